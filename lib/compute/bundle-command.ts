import { parseArgs } from 'node:util';
import { bundle } from './bundle.ts';

/** `node bundle-command.ts FILE FOLDER [--development]`. bundling.ts runs it, because CDK cannot wait for a promise. */
const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { development: { type: 'boolean', default: false } },
});
const [file, outputDirectory] = positionals;
if (file === undefined || outputDirectory === undefined) {
  throw new Error('Usage: bundle-command.ts FILE FOLDER [--development]');
}
await bundle(file, outputDirectory, values);
