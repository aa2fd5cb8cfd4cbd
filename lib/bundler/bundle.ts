import { mkdir, writeFile } from 'node:fs/promises';
import { basename, join, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, type BuildOptions, type Metafile } from 'esbuild';
import { stubs } from './stubbed-modules.ts';

const thisProject = join(import.meta.dirname, '..', '..');

export interface BundleSettings {
  /** Keeps names and whitespace, and makes the bundle name its source map: for the local stage and debuggers. */
  readonly development?: boolean;
  /** The folder of package.json. Default: this project's. */
  readonly projectDirectory?: string;
}

/**
 * esbuild's options for a function: one ES module without code that no request needs, and a source map. The extension
 * `.mjs` makes it an ES module without a package.json.
 *
 * @param file path of the function, relative to the project, such as `functions/list-pets.ts`
 * @param settings.outputDirectory the paths in the source map are relative to it. Default: the project's folder
 */
export function bundleOptions(
  file: string,
  settings: BundleSettings & { readonly outputDirectory?: string } = {},
) {
  const { development = false, projectDirectory = thisProject } = settings;
  const { outputDirectory = projectDirectory } = settings;
  return {
    absWorkingDir: projectDirectory,
    stdin: {
      contents: `import './functions/runtime/stack-traces.ts'; export * from './${file}';`,
      resolveDir: projectDirectory,
      sourcefile: `entry:${file}`,
    },
    outfile: join(outputDirectory, `${basename(file, '.ts')}.mjs`),
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    mainFields: ['module', 'main'],
    minify: !development,
    treeShaking: true,
    legalComments: 'none',
    // If a bundle names its map and source maps are enabled, Node.js reads the map at every start.
    sourcemap: development ? 'linked' : 'external',
    // A debugger finds the sources wherever the bundle is copied to.
    ...(development && { sourceRoot: pathToFileURL(outputDirectory + sep).href }),
    sourcesContent: false,
    metafile: true,
    logLevel: 'warning',
    plugins: [stubs()],
  } as const satisfies BuildOptions;
}

/**
 * Bundles a function into a folder. The output does not depend on the folder: its source map has paths that are relative to
 * the project.
 *
 * @throws Error from esbuild if the build fails
 */
export async function bundle(
  file: string,
  outputDirectory: string,
  settings: BundleSettings = {},
): Promise<Metafile> {
  const { metafile, outputFiles } = await build({ ...bundleOptions(file, settings), write: false });
  await mkdir(outputDirectory, { recursive: true });
  for (const { path, contents } of outputFiles) {
    await writeFile(join(outputDirectory, basename(path)), contents);
  }
  return metafile;
}
