import { existsSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { build as esbuild, type Plugin } from 'esbuild';

interface LeftOutModule {
  /** Why no request needs it. */
  readonly because: string;
  /** Exports that are reached nevertheless, as JavaScript expressions. The others throw when they are called. */
  readonly instead?: Readonly<Record<string, string>>;
}

/**
 * Modules of the SDK that would load at start, by their path in node_modules, although no request needs them. Each takes
 * at least 2 ms of processor time off the first response; other modules were measured and take less. Tests run the bundles
 * through every operation, failures and retries included: test/integration/bundles.test.ts.
 */
export const leftOutModules: Readonly<Record<string, LeftOutModule>> = {
  '@aws-sdk/client-dynamodb/dist-es/DynamoDBClient.js': {
    // The gain is in bench/README.md: most of what the SDK's own client loads.
    because: 'functions/dynamodb-client.ts replaces it; the document client imports it for old versions',
  },
  // This one and the next: 5 ms of processor time together, 28 KB.
  '@smithy/core/dist-es/submodules/endpoints/index.js': {
    because: 'the endpoint is the same for every call and known to functions/dynamodb-client.ts',
    instead: { getEndpointPlugin: '() => ({ applyToStack() {} })' },
  },
  '@smithy/core/dist-es/submodules/event-streams/index.js': {
    because: 'DynamoDB has no operation with event streams',
  },
  '@smithy/core/dist-es/submodules/serde/uuid/v4.js': {
    // 3 ms of processor time at start.
    because: 'it looks for `crypto.randomUUID`, which loads WebCrypto; the one of node:crypto does not',
    instead: { bindV4: "() => () => process.getBuiltinModule('node:crypto').randomUUID()" },
  },
};

/** Leaves them out. @throws Error if one of them has moved, because an update of the SDK needs a review */
export function leftOut(): Plugin {
  return {
    name: 'left-out',
    setup(build) {
      const modules = join(build.initialOptions.absWorkingDir ?? '', 'node_modules');
      for (const [module, { instead }] of Object.entries(leftOutModules)) {
        const path = join(modules, module);
        if (!existsSync(path)) throw new Error(`${module} has moved: see lib/compute/bundle-left-out.ts`);
        // esbuild resolves links.
        const file = realpathSync(path);
        // The filter is a Go regular expression, so the exact path, which may contain any character, is compared here.
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
