import { dirname, join } from 'node:path';
import { AssetHashType, type BundlingOptions, DockerImage } from 'aws-cdk-lib';
import { Code } from 'aws-cdk-lib/aws-lambda';
import { type BuildOptions, buildSync, type Metafile } from 'esbuild';
import type { FunctionEntry } from './stages.ts';

const projectDirectory = dirname(import.meta.dirname);
const functionsDirectory = join(projectDirectory, 'functions');

/**
 * How a function becomes what Lambda loads: an ES module of its own, with everything that it does not need at start
 * split off into chunks. The `.mjs` makes Node.js take it for one, whatever package.json is or is not beside it.
 */
const esbuildOptions = {
  absWorkingDir: projectDirectory,
  bundle: true,
  platform: 'node',
  target: 'node24',
  format: 'esm',
  splitting: true,
  outExtension: { '.js': '.mjs' },
  mainFields: ['module', 'main'],
  minify: true,
  treeShaking: true,
  legalComments: 'none',
  metafile: true,
  logLevel: 'warning',
} as const satisfies BuildOptions;

/**
 * Bundles one function into a folder.
 *
 * @returns what went into it, and from where
 * @throws Error from esbuild, with its messages, when the function does not build
 */
export function bundle(entry: FunctionEntry, outputDirectory: string): Metafile {
  const entryPoint = join(functionsDirectory, `${entry}.ts`);
  return buildSync({ ...esbuildOptions, entryPoints: [entryPoint], outdir: outputDirectory }).metafile;
}

/** The bundled code of a function, as an asset. Its hash is that of the bundle: what did not change is not deployed again. */
export function bundledCode(entry: FunctionEntry): Code {
  const bundling: BundlingOptions = {
    // Never run: the bundle is made right here. CDK wants an image all the same.
    image: DockerImage.fromRegistry('esbuild'),
    // Not run either, but it is what tells the bundles apart in CDK's cache.
    command: [entry],
    local: {
      tryBundle: (outputDirectory) => {
        bundle(entry, outputDirectory);
        return true;
      },
    },
  };
  return Code.fromAsset(functionsDirectory, { assetHashType: AssetHashType.OUTPUT, bundling });
}
