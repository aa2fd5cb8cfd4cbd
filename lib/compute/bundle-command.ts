import { bundle } from './bundle.ts';

/** `node bundle-command.ts FILE FOLDER`: esbuild's plugins are asynchronous and CDK is not, so bundling.ts runs this. */
const [file, outputDirectory] = process.argv.slice(2);
if (file === undefined || outputDirectory === undefined) {
  throw new Error('Usage: bundle-command.ts FILE FOLDER');
}
await bundle(file, outputDirectory);
