import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { App, FileSystem, Stack } from 'aws-cdk-lib';
import { Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { bundle, bundleOptions } from '../../lib/compute/bundle.ts';
import { bundledCode } from '../../lib/compute/bundling.ts';
import { functionEntries } from '../../lib/compute/entries.ts';
import { resourcesOf, synthesize, theResource } from './synthesis.ts';

const root = await mkdtemp(join(tmpdir(), 'bundles-'));
afterAll(() => rm(root, { recursive: true, force: true }));

const bundles = await Promise.all(
  functionEntries.map(async (entry) => {
    const directory = join(root, entry);
    const { inputs } = await bundle(`functions/${entry}.ts`, directory);
    return [entry, { directory, inputs: Object.keys(inputs) }] as const;
  }),
);

/** Enough for a function to load. */
const environment = {
  PATH: process.env['PATH'],
  AWS_REGION: 'eu-west-1',
  AWS_ACCESS_KEY_ID: 'id',
  AWS_SECRET_ACCESS_KEY: 'secret',
  STAGE: 'prod',
  PETS_TABLE: 'pets',
  API_KEYS_TABLE: 'keys',
  RATE_LIMITS_TABLE: 'limits',
  LIMITER_TIMEOUT_MS: '1000',
  METRICS_NAMESPACE: 'namespace',
  ALLOWED_METHODS: '{}',
  AUTHORIZER_CACHE_SECONDS: '60',
};

describe.each(bundles)('the bundle of %s', (entry, { directory, inputs }) => {
  it('loads by itself, outside the project, and has the handler that the template names', async () => {
    const [, { Properties }] = theResource(synthesize().stack('AnimalStore-prod'), 'AWS::Lambda::Function', {
      Handler: `${entry}.handler`,
    });
    const [file, handler] = String(Properties['Handler']).split('.');
    const script = `console.log(typeof (await import('./${file}.mjs')).${handler})`;
    const { stdout, stderr } = await promisify(execFile)(
      process.execPath,
      ['--input-type=module', '--eval', script],
      { cwd: directory, env: environment },
    );
    expect({ stdout, stderr }).toEqual({ stdout: 'function\n', stderr: '' });
  });

  it('consists of ES modules alone', async () => {
    const files = await readdir(directory);
    expect(files.length).toBeGreaterThan(0);
    expect(files.filter((file) => !file.endsWith('.mjs'))).toEqual([]);
  });

  it('holds nothing of the project but functions/', () => {
    // What a plugin puts in has a name like `plugin:module`.
    const own = inputs.filter((path) => !path.startsWith('node_modules/') && !path.includes(':'));
    expect(own.length).toBeGreaterThan(0);
    expect(own.filter((path) => !path.startsWith('functions/'))).toEqual([]);
  });
});

describe('what is deployed', () => {
  const outdir = join(root, 'cdk.out');
  const entries = ['get-pet', 'authorizer'] as const;
  let template: unknown;

  beforeAll(() => {
    const app = new App({ outdir });
    const stack = new Stack(app, 'Stack');
    for (const entry of entries) {
      new LambdaFunction(stack, entry, {
        runtime: Runtime.NODEJS_24_X,
        handler: `${entry}.handler`,
        code: bundledCode(entry),
      });
    }
    template = app.synth().getStackByName('Stack').template;
  });

  it.each(entries)(
    'is the bundle, under a name that changes with nothing but its content: %s',
    async (entry) => {
      const { Resources } = z
        .object({
          Resources: z.record(
            z.string(),
            z.object({
              Properties: z.object({
                Handler: z.string().optional(),
                Code: z.object({ S3Key: z.string() }).optional(),
              }),
            }),
          ),
        })
        .parse(template);
      const found = Object.values(Resources).find(
        ({ Properties }) => Properties.Handler === `${entry}.handler`,
      );
      const hash = found?.Properties.Code?.S3Key.replace(/\.zip$/, '');
      const directory = join(outdir, `asset.${hash}`);
      expect(await readdir(directory)).toEqual([`${entry}.mjs`]);
      expect(FileSystem.fingerprint(directory)).toBe(hash);
    },
  );

  it('is written for the Node.js that runs it', () => {
    const runtimes = resourcesOf(synthesize().stack('AnimalStore-prod'), 'AWS::Lambda::Function').map(
      ([, { Properties }]) => Properties['Runtime'],
    );
    expect(new Set(runtimes)).toEqual(new Set([`${bundleOptions.target.replace('node', 'nodejs')}.x`]));
  });
});

describe('bundling', () => {
  it('makes the same of the same sources, wherever it is put', async () => {
    const [[entry, { directory }]] = bundles as [(typeof bundles)[number]];
    const again = join(root, 'elsewhere', 'again');
    await bundle(`functions/${entry}.ts`, again);
    const files = await readdir(directory);
    expect(await readdir(again)).toEqual(files);
    for (const file of files) {
      expect(await readFile(join(again, file), 'utf8')).toBe(await readFile(join(directory, file), 'utf8'));
    }
  });
});
