import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { AssetHashType, type BundlingOptions, DockerImage } from 'aws-cdk-lib';
import { Code } from 'aws-cdk-lib/aws-lambda';
import type { FunctionEntry } from './entries.ts';

const functionsDirectory = join(import.meta.dirname, '..', '..', 'functions');
const bundler = join(import.meta.dirname, 'bundle-command.ts');

/** The bundled code of a function, as an asset. Its hash is that of the bundle: what did not change is not deployed again. */
export function bundledCode(entry: FunctionEntry): Code {
  const bundling: BundlingOptions = {
    // Never run: the bundle is made right here. CDK wants an image all the same.
    image: DockerImage.fromRegistry('esbuild'),
    // Not run either, but it is what tells the bundles apart in CDK's cache.
    command: [entry],
    local: {
      tryBundle: (outputDirectory) => {
        // In a process of its own, since esbuild's plugins are asynchronous and CDK is not.
        execFileSync(process.execPath, [bundler, `functions/${entry}.ts`, outputDirectory], {
          stdio: ['ignore', 'ignore', 'inherit'],
        });
        return true;
      },
    },
  };
  return Code.fromAsset(functionsDirectory, { assetHashType: AssetHashType.OUTPUT, bundling });
}
