import { readFileSync } from 'node:fs';
import { Command } from '@commander-js/extra-typings';
import { usageError } from '../command-line/errors.ts';
import { runAsProcess, toolOf } from '../command-line/program.ts';
import { lossesConfirmedBy } from './commits.ts';
import { lineOf, messageOf } from './finding.ts';
import { guard } from './guard.ts';
import { versionIn } from './template.ts';

const program = new Command('node tools/run.mjs compare-templates')
  .description(
    'Prints what the guard of a deployment finds, with what the commits up to HEAD confirm. A "stop" is output, too: exit code 0.',
  )
  .argument('<deployed>', 'template that is deployed, as JSON')
  .argument('<new>', 'template that would be deployed, as JSON')
  .action((deployedFile, newFile) => {
    const [deployed, next] = [read(deployedFile), read(newFile)];
    const confirmed = new Set(lossesConfirmedBy('HEAD', versionIn(deployed)));
    for (const finding of guard(deployed, next, confirmed)) console.log(lineOf(finding));
  });
await runAsProcess(toolOf(program));

function read(file: string): unknown {
  const text = readFileSync(file, 'utf8');
  try {
    return JSON.parse(text);
  } catch (error) {
    throw usageError(`${file} is not JSON: ${messageOf(error)}.`);
  }
}
