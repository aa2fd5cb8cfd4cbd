import { existsSync, realpathSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build as esbuild, type Plugin } from 'esbuild';

interface LeftOut {
  /** Why no request can need it. */
  readonly because: string;
  /** Exports that are reached all the same, as JavaScript expressions. All others throw when they are called. */
  readonly instead?: Readonly<Record<string, string>>;
  /** What is left of the original, where that is not nothing. */
  readonly rest?: (source: string) => string;
}

/** What GetItem, PutItem, Query and UpdateItem can answer with: docs.aws.amazon.com/amazondynamodb/latest/APIReference */
const possibleErrors: ReadonlySet<string> = new Set([
  'ConditionalCheckFailedException',
  'InternalServerError',
  'ItemCollectionSizeLimitExceededException',
  'ProvisionedThroughputExceededException',
  'ReplicatedWriteConflictException',
  'RequestLimitExceeded',
  'ResourceNotFoundException',
  'ThrottlingException',
  'TransactionConflictException',
]);

/**
 * Modules of the SDK that a function would load at start, by their path in node_modules, although it never runs what is
 * in them. Tests run the bundles through every operation, failures and retries included: test/infrastructure/start-path.test.ts.
 */
export const leftOutModules: Readonly<Record<string, LeftOut>> = {
  '@aws-sdk/client-dynamodb/dist-es/DynamoDBClient.js': {
    because:
      'functions/dynamodb-client.ts is in its place; the document client has it for clients that are too old',
  },
  '@aws-sdk/lib-dynamodb/dist-es/pagination/QueryPaginator.js': {
    because: 'pages are read by hand, to the exact number of items',
  },
  '@aws-sdk/lib-dynamodb/dist-es/pagination/ScanPaginator.js': { because: 'nothing is ever scanned' },
  '@smithy/core/dist-es/submodules/event-streams/index.js': {
    because: 'DynamoDB streams no events to its callers',
    // It is only ever imported when it is needed, as a whole.
    rest: () => "throw new Error('event streams are left out');",
  },
  '@smithy/core/dist-es/submodules/serde/date-utils.js': {
    because: 'nothing in the requests and answers of our operations is a timestamp',
  },
  '@smithy/signature-v4/dist-es/HeaderFormatter.js': {
    because: 'it signs messages of event streams',
    // Each signer makes one.
    instead: { HeaderFormatter: 'class {}' },
  },
  '@smithy/core/dist-es/submodules/protocols/HttpBindingNormalizedSchema.js': {
    because: 'DynamoDB takes everything in the body, and nothing in path, query or headers',
    instead: { getHttpOperationBindings: '() => []' },
  },
  '@smithy/core/dist-es/submodules/endpoints/index.js': {
    because: 'the endpoint is the same for every call: functions/dynamodb-client.ts knows it from the start',
    instead: { getEndpointPlugin: '() => ({ applyToStack() {} })' },
  },
  '@smithy/core/dist-es/submodules/serde/uuid/v4.js': {
    because: 'to look for `crypto.randomUUID` loads all of WebCrypto; Node.js has one without',
    rest: () => "import { randomUUID } from 'node:crypto'; export const bindV4 = () => () => randomUUID();",
  },
  '@aws-sdk/client-dynamodb/dist-es/schemas/schemas_0.js': {
    because:
      'errors of operations that are not called; they would arrive as DynamoDBServiceException, with their name',
    rest: (source) =>
      source.replace(/^n0_registry\.registerError\(\w+\$, (\w+)\);$/gm, (line, error: string) =>
        possibleErrors.has(error) ? line : '',
      ),
  },
};

/** Leaves them out. @throws Error when one of them has moved: an update of the SDK needs another look */
export function leftOut(): Plugin {
  return {
    name: 'left-out',
    setup(build) {
      const modules = join(build.initialOptions.absWorkingDir ?? '', 'node_modules');
      for (const [module, leaving] of Object.entries(leftOutModules)) {
        const path = join(modules, module);
        if (!existsSync(path)) throw new Error(`${module} has moved: see lib/compute/bundle-left-out.ts`);
        // esbuild knows files by the path behind every link.
        const file = realpathSync(path);
        // The filter is a Go regular expression, so the exact path, which may hold any character, is compared here.
        build.onLoad({ filter: /\.js$/ }, async (args) =>
          args.path === file ? { contents: await whatIsLeft(file, leaving), loader: 'js' } : undefined,
        );
      }
    },
  };
}

async function whatIsLeft(file: string, { rest, instead = {} }: LeftOut): Promise<string> {
  if (rest !== undefined) return rest(await readFile(file, 'utf8'));
  const { metafile } = await esbuild({ entryPoints: [file], write: false, metafile: true, format: 'esm' });
  const names = Object.values(metafile.outputs).flatMap((output) => output.exports);
  return names
    .map((name) => {
      const throwing = `function () { throw new Error('${name} is left out') }`;
      return `export const ${name} = ${instead[name] ?? throwing};`;
    })
    .join('\n');
}
