import { basename, join } from 'node:path';
import { type BuildContext, build, type BuildOptions, context, type Metafile } from 'esbuild';
import { builtins } from './bundle-builtins.ts';
import { leftOut } from './bundle-left-out.ts';
import { sourceMaps } from './bundle-source-maps.ts';

const thisProject = join(import.meta.dirname, '..', '..');

export interface BundleSettings {
  /**
   * Whether names and white space are kept, and the source map covers packages too: for the local stage and debuggers.
   * What the code does is the same.
   */
  readonly development?: boolean;
  /** The folder of package.json. Left out: this project's. */
  readonly projectDirectory?: string;
}

/**
 * How a function becomes what Lambda loads: one ES module without anything that no request can need, and a source map.
 * The extension `.mjs` makes it an ES module without a package.json. docs/performance.md has what each choice gains.
 *
 * @param file its module, relative to the project, such as `functions/list-pets.ts`
 */
export function bundleOptions(file: string, outputDirectory: string, settings: BundleSettings = {}) {
  const { development = false, projectDirectory = thisProject } = settings;
  return {
    absWorkingDir: projectDirectory,
    stdin: {
      contents: `import './functions/stack-traces.ts'; export * from './${file}';`,
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
    // A comment that names the map would have Node.js read it at start where source maps are enabled: 8 ms.
    sourcemap: development ? 'linked' : 'external',
    sourcesContent: false,
    metafile: true,
    logLevel: 'warning',
    plugins: [leftOut(), builtins(), sourceMaps(development)],
  } as const satisfies BuildOptions;
}

/**
 * Bundles a function into a folder.
 *
 * @returns what went into it, and from where
 * @throws Error from esbuild, with its messages, when the function does not build
 */
export async function bundle(
  file: string,
  outputDirectory: string,
  settings?: BundleSettings,
): Promise<Metafile> {
  const { metafile } = await build(bundleOptions(file, outputDirectory, settings));
  return metafile;
}

/**
 * Bundles a function again and again, for development: `rebuild()` reads only what has changed, and `watch()` calls it.
 * https://esbuild.github.io/api/#rebuild
 */
export async function bundleContext(
  file: string,
  outputDirectory: string,
  projectDirectory: string = thisProject,
): Promise<BuildContext<ReturnType<typeof bundleOptions>>> {
  return context(bundleOptions(file, outputDirectory, { development: true, projectDirectory }));
}
