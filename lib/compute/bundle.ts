import { basename, join } from 'node:path';
import { build, type BuildOptions, type Metafile } from 'esbuild';
import { leftOut } from './bundle-left-out.ts';
import { sourceMaps } from './bundle-source-maps.ts';

const thisProject = join(import.meta.dirname, '..', '..');

export interface BundleSettings {
  /**
   * Keeps names and whitespace, and includes packages in the source map: for the local stage and debuggers. The code behaves
   * the same.
   */
  readonly development?: boolean;
  /** The folder of package.json. Default: this project's. */
  readonly projectDirectory?: string;
}

/**
 * The bundle of a function: one ES module without code that no request needs, and a source map. The extension `.mjs` makes
 * it an ES module without a package.json. bench/README.md has the gain of the options.
 *
 * @param file path of the function, relative to the project, such as `functions/list-pets.ts`
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
    // A comment with the name of the map makes Node.js read it at start if source maps are enabled: 8 ms.
    sourcemap: development ? 'linked' : 'external',
    sourcesContent: false,
    metafile: true,
    logLevel: 'warning',
    plugins: [leftOut(), sourceMaps(development)],
  } as const satisfies BuildOptions;
}

/**
 * Bundles a function into a folder.
 *
 * @throws Error from esbuild if the build fails
 */
export async function bundle(
  file: string,
  outputDirectory: string,
  settings?: BundleSettings,
): Promise<Metafile> {
  const { metafile } = await build(bundleOptions(file, outputDirectory, settings));
  return metafile;
}
