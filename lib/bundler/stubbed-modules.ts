import { existsSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { build as esbuild, type Plugin } from 'esbuild';

/**
 * Modules of the SDK that every bundle would contain although no request runs them, by their path in node_modules, and why none
 * does. Without them a function starts faster (bench/README.md#comparison). test/deployed/functions/bundles.test.ts runs the bundles through
 * every operation, failures and retries included.
 */
export const stubbedModules = {
  '@aws-sdk/credential-provider-node/dist-es/index.js': 'The client is given credentials.',
  '@smithy/core/dist-es/submodules/config/config-resolver/regionConfig/getInstanceMetadataRegion.js':
    'The client is given its Region.',
  '@smithy/core/dist-es/submodules/config/shared-ini-file-loader/loadSharedConfigFiles.js':
    'It reads configuration files. The client is given every setting.',
  '@smithy/core/dist-es/submodules/endpoints/middleware-endpoint/adaptors/getEndpointFromConfig.js':
    'It reads configuration files.',
  '@smithy/core/dist-es/submodules/checksum/sha256/Sha256Js.js': 'Node.js has SHA-256.',
  '@smithy/core/dist-es/submodules/event-streams/index.js': 'DynamoDB has no operation with an event stream.',
  '@smithy/core/dist-es/submodules/retry/util-retry/AdaptiveRetryStrategy.js':
    'The client is given its strategy.',
} as const satisfies Record<string, string>;

/**
 * Replaces each by a stub: a module with the same exports, which throw when they are called.
 *
 * @throws Error if a module has moved, because an update of the SDK needs a review
 */
export function stubs(): Plugin {
  return {
    name: 'stubs',
    setup(build) {
      const modules = join(build.initialOptions.absWorkingDir ?? '', 'node_modules');
      for (const module of Object.keys(stubbedModules)) {
        const path = join(modules, module);
        if (!existsSync(path))
          throw new Error(`${module} does not exist: update lib/bundler/stubbed-modules.ts`);
        // esbuild resolves symbolic links.
        const file = realpathSync(path);
        // The filter is a Go regular expression, and a path may contain any character, so it is compared here.
        build.onLoad({ filter: /\.js$/ }, async (args) =>
          args.path === file ? { contents: await stubOf(file), loader: 'js' } : undefined,
        );
      }
    },
  };
}

async function stubOf(file: string): Promise<string> {
  const { metafile } = await esbuild({ entryPoints: [file], write: false, metafile: true, format: 'esm' });
  return Object.values(metafile.outputs)
    .flatMap((output) => output.exports)
    .map((name) => `export const ${name} = function () { throw new Error('${name} is a stub') };`)
    .join('\n');
}
