import { readFileSync } from 'node:fs';
import { lossesConfirmedBy } from './commits.ts';
import { guard } from './guard.ts';
import { versionIn } from './template.ts';

/** `node tools/run.mjs compare-templates DEPLOYED NEW`: prints what the guard of a deployment finds, with what the commits up to HEAD confirm. */
const [deployed, next] = process.argv
  .slice(2)
  .map((file) => JSON.parse(readFileSync(file, 'utf8')) as unknown);
// Also a stop is output here: the comment of the pull request shows it.
for (const { kind, text } of guard(deployed, next, new Set(lossesConfirmedBy('HEAD', versionIn(deployed)))))
  console.log(`${kind}: ${text}`);
