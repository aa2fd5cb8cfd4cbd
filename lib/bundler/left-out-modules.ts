import { existsSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { build as esbuild, type Plugin } from 'esbuild';

interface LeftOutModule {
  /** Why no request needs it. */
  readonly because: string;
  /** Replacements of exports, as JavaScript expressions. The other exports throw when called. */
  readonly instead?: Readonly<Record<string, string>>;
}

/**
 * Modules of the SDK that would load at start although no request needs them, by their path in node_modules. Each saves at
 * least 2 ms of CPU time of the first response; other modules were measured and save less.
 * test/integration/bundles.test.ts runs the bundles through every operation, failures and retries included.
 */
export const leftOutModules: Readonly<Record<string, LeftOutModule>> = {
  '@aws-sdk/client-dynamodb/dist-es/DynamoDBClient.js': {
    // bench/README.md has the gain.
    because: 'functions/dynamodb-client.ts replaces it; the document client imports it for old versions',
  },
  '@smithy/core/dist-es/submodules/endpoints/index.js': {
    // 4 ms of CPU time.
    because: 'the endpoint is the same for every call and known to functions/dynamodb-client.ts',
    instead: { getEndpointPlugin: '() => ({ applyToStack() {} })' },
  },
  '@smithy/core/dist-es/submodules/serde/uuid/v4.js': {
    // 3 ms of CPU time.
    because: 'it reads `crypto.randomUUID`, which loads WebCrypto; node:crypto does not',
    instead: { bindV4: "() => () => process.getBuiltinModule('node:crypto').randomUUID()" },
  },
};

/** @throws Error if a module has moved, because an update of the SDK needs a review */
export function leftOut(): Plugin {
  return {
    name: 'left-out',
    setup(build) {
      const modules = join(build.initialOptions.absWorkingDir ?? '', 'node_modules');
      for (const [module, { instead }] of Object.entries(leftOutModules)) {
        const path = join(modules, module);
        if (!existsSync(path))
          throw new Error(`${module} does not exist: update lib/bundler/left-out-modules.ts`);
        // esbuild resolves symbolic links.
        const file = realpathSync(path);
        // The filter is a Go regular expression, and a path may contain any character, so it is compared here.
        build.onLoad({ filter: /\.js$/ }, async (args) =>
          args.path === file ? { contents: await replacement(file, instead), loader: 'js' } : undefined,
        );
      }
    },
  };
}

/** A module with the same exports. */
async function replacement(file: string, instead: LeftOutModule['instead'] = {}): Promise<string> {
  const { metafile } = await esbuild({ entryPoints: [file], write: false, metafile: true, format: 'esm' });
  const names = Object.values(metafile.outputs).flatMap((output) => output.exports);
  return names
    .map((name) => {
      const throwing = `function () { throw new Error('${name} is left out') }`;
      return `export const ${name} = ${instead[name] ?? throwing};`;
    })
    .join('\n');
}
