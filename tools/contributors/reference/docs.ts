import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Command } from '@commander-js/extra-typings';
import { printable } from '../../operators/command-line/output.ts';
import { runAsProcess, toolOf } from '../../operators/command-line/program.ts';
import { referenceFiles } from './files.ts';

const program = new Command('npm run docs --')
  .description('Writes the API reference for any web server, without an API key. It sends no requests.')
  .option('--output <folder>', 'where to write it', '.local/reference')
  .action(async ({ output }) => {
    const folder = resolve(output);
    await mkdir(folder, { recursive: true });
    for (const [path, { body }] of referenceFiles()) {
      await writeFile(join(folder, path === '/' ? 'index.html' : path), body);
    }
    console.log(printable(`Wrote the API reference to ${folder}`));
  });
await runAsProcess(toolOf(program));
