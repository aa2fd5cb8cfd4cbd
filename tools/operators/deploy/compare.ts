import { readFileSync } from 'node:fs';
import { refusals } from './template-changes.ts';

/** `node compare.ts DEPLOYED NEW`: prints why a deployment would refuse the new template, one reason a line. */
const [deployed, next] = process.argv
  .slice(2)
  .map((file) => JSON.parse(readFileSync(file, 'utf8')) as unknown);
for (const reason of refusals(deployed, next)) console.log(`stop: ${reason}`);
