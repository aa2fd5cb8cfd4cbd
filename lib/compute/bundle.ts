import { join } from 'node:path';
import { build, type BuildOptions, type Metafile } from 'esbuild';
import { builtins } from './bundle-builtins.ts';
import { leftOut } from './bundle-left-out.ts';

const projectDirectory = join(import.meta.dirname, '..', '..');

/**
 * How a function becomes what Lambda loads: one ES module with nothing in it that a request cannot need. The `.mjs`
 * makes Node.js take it for one, whatever package.json is or is not beside it. Every choice here is measured:
 * docs/performance.md.
 */
export const bundleOptions = {
  absWorkingDir: projectDirectory,
  bundle: true,
  platform: 'node',
  target: 'node24',
  format: 'esm',
  outExtension: { '.js': '.mjs' },
  mainFields: ['module', 'main'],
  minify: true,
  treeShaking: true,
  legalComments: 'none',
  metafile: true,
  logLevel: 'warning',
} as const satisfies BuildOptions;

/**
 * Bundles a function into a folder.
 *
 * @param file its module, relative to the project, such as `functions/list-pets.ts`
 * @returns what went into it, and from where
 * @throws Error from esbuild, with its messages, when the function does not build
 */
export async function bundle(file: string, outputDirectory: string): Promise<Metafile> {
  const { metafile } = await build({
    ...bundleOptions,
    entryPoints: [file],
    outdir: outputDirectory,
    plugins: [leftOut(), builtins()],
  });
  return metafile;
}
