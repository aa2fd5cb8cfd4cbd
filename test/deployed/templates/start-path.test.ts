import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { stubbedModules } from '../../../lib/bundler/stubbed-modules.ts';
import { bundles } from './built-functions.ts';

/**
 * The modules that a function loads before its first request. They determine the cold start, and one import can add a
 * hundred of them. See bench/README.md.
 */

/** Maximum bytes of code that a function loads at start. */
const budget = 237_000;

/** The packages on the start path, and their purpose. Each costs milliseconds. */
const packages: Readonly<Record<string, string>> = {
  '@aws-sdk/client-dynamodb': 'the client, commands and their schemas',
  '@aws-sdk/core': 'the protocol, signatures, endpoints',
  '@aws-sdk/dynamodb-codec': 'attribute values in JSON',
  '@aws-sdk/endpoint-cache': 'a member of the client',
  '@aws-sdk/lib-dynamodb': 'commands that take and give plain values',
  '@aws-sdk/middleware-endpoint-discovery': 'a setting of the client',
  '@aws-sdk/util-dynamodb': 'plain values to attribute values and back',
  '@aws/lambda-invoke-store': 'the trace of a request',
  '@middy/core': 'the pipeline of a request',
  '@smithy/core': 'retries, middleware',
  '@smithy/node-http-handler': 'HTTP',
  '@smithy/signature-v4': 'signatures',
  '@smithy/types': 'constants of the above',
  mnemonist: 'of @aws-sdk/endpoint-cache',
  obliterator: 'of mnemonist',
  zod: 'schemas at every border',
};

/** Modules of those packages that must not be on the start path, and why. */
const unwanted: readonly (readonly [RegExp, string])[] = [
  [/zod\/v4\/(?:classic|locales)\//, 'the full zod is ten times as large as zod/mini'],
  [/zod\/v4\/core\/(?:json-schema|to-json-schema|compile)/, 'schemas are not exported'],
  [/client-dynamodb\/dist-es\/(?:DynamoDB\.js|waiters)/, 'not used'],
  [/shared-ini-file-loader\/(?!getProfileName)/, 'a function has no configuration files'],
  [/credential-provider|token-provider|\/sso|\/sts/, 'Lambda passes credentials in environment variables'],
  [/node-http2-handler/, 'DynamoDB speaks HTTP/1.1'],
  [/\/(?:xml|cbor|query)\//, 'protocols of other services'],
  [/AdaptiveRetryStrategy|DefaultRateLimiter/, 'the standard retry mode is used'],
];

const isStub = (path: string): boolean =>
  Object.keys(stubbedModules).some((module) => path.endsWith(`node_modules/${module}`));

/** The modules with code in the bundle, besides stubs. */
const modulesOf = ({ metafile }: (typeof bundles)[number]): string[] =>
  Object.values(metafile.outputs).flatMap(({ inputs }) =>
    Object.keys(inputs).filter((path) => inputs[path]!.bytesInOutput > 0 && !isStub(path)),
  );

describe.each(bundles)('the start path of $entry', (bundle) => {
  const file = join(bundle.directory, `${bundle.entry}.mjs`);
  const modules = modulesOf(bundle);

  test('is one module within the size budget', () => {
    expect(readdirSync(bundle.directory)).toEqual([`${bundle.entry}.mjs`, `${bundle.entry}.mjs.map`]);
    const { size } = statSync(file);
    const advice =
      'After an update of a package: run `npm run bench` before and after. If cold starts are no slower, raise the budget here; ' +
      'otherwise leave modules that no request runs out of the bundle (lib/bundler/), or keep the old version.';
    expect(size).toBeGreaterThan(0);
    if (size > budget) throw new Error(`${size} bytes, budget ${budget}. ${advice}`);
  });

  test('contains only code of the listed packages', () => {
    expect(new Set(modules.flatMap(packageOf)).difference(new Set(Object.keys(packages)))).toEqual(new Set());
  });

  test('contains no unwanted module', () => {
    const found = modules.flatMap((module) =>
      unwanted.filter(([pattern]) => pattern.test(module)).map(([, reason]) => `${module}: ${reason}`),
    );
    expect(found).toEqual([]);
  });
});

test('all listed packages are in use', () => {
  const used = new Set(bundles.flatMap(modulesOf).flatMap(packageOf));
  expect(Object.keys(packages).filter((name) => !used.has(name))).toEqual([]);
});

test.each(Object.keys(stubbedModules))('%s would be on the start path if it were no stub', (module) => {
  const inputs = bundles.flatMap(({ metafile }) => Object.keys(metafile.inputs));
  expect(inputs.some((path) => path.endsWith(`node_modules/${module}`))).toBe(true);
});

/** The package of a module. Empty for a module of this project or of Node.js. */
function packageOf(module: string): string[] {
  const name = /(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*node_modules)/.exec(module)?.[1];
  return name === undefined ? [] : [name];
}
