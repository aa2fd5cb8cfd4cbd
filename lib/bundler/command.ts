import { parseArgs } from 'node:util';
import { bundle } from './bundle.ts';

/** `node command.ts FILE FOLDER [--development]`: a process of its own, because the CDK cannot wait for a promise. */
const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { development: { type: 'boolean', default: false } },
});
const [file, outputDirectory] = positionals;
if (file === undefined || outputDirectory === undefined) {
  throw new Error('Usage: command.ts FILE FOLDER [--development]');
}
await bundle(file, outputDirectory, values);
