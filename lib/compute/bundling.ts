import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { AssetHashType, type BundlingOptions, DockerImage } from 'aws-cdk-lib';
import { Code } from 'aws-cdk-lib/aws-lambda';
import type { FunctionEntry } from '../operations.ts';

const functionsDirectory = join(import.meta.dirname, '..', '..', 'functions');
const bundler = join(import.meta.dirname, 'bundle-command.ts');

/** The bundled code of a function. The asset's hash is that of the bundle, so an unchanged function is not redeployed. */
export function bundledCode(entry: FunctionEntry, { minify }: { readonly minify: boolean }): Code {
  const mode = minify ? [] : ['--development'];
  const bundling: BundlingOptions = {
    // Required by CDK, but not used.
    image: DockerImage.fromRegistry('esbuild'),
    // Not used either, but part of CDK's cache key.
    command: [entry, ...mode],
    local: {
      tryBundle: (outputDirectory) => {
        // A separate process, because esbuild's plugins are asynchronous and CDK is not.
        execFileSync(process.execPath, [bundler, `functions/${entry}.ts`, outputDirectory, ...mode], {
          stdio: ['ignore', 'ignore', 'inherit'],
        });
        return true;
      },
    },
  };
  return Code.fromAsset(functionsDirectory, { assetHashType: AssetHashType.OUTPUT, bundling });
}
