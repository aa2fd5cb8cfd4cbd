import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { App, FileSystem, Stack } from 'aws-cdk-lib';
import { Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { bundle, bundleOptions } from '../../../lib/bundler/bundle.ts';
import { stubbedModules } from '../../../lib/bundler/stubbed-modules.ts';
import { functionCode } from '../../../lib/compute/function-code.ts';
import { bundles, environment } from './built-functions.ts';
import { resourcesOf, stackOf } from './synthesis.ts';

const root = await mkdtemp(join(tmpdir(), 'bundles-'));
afterAll(() => rm(root, { recursive: true, force: true }));

it.each(bundles)(
  'the bundle of $entry contains no code of the project outside functions/',
  ({ metafile }) => {
    // Modules of plugins have names like `plugin:module`.
    const own = Object.keys(metafile.inputs).filter(
      (path) => !path.startsWith('node_modules/') && !path.includes(':'),
    );
    expect(own.length).toBeGreaterThan(0);
    expect(own.filter((path) => !path.startsWith('functions/'))).toEqual([]);
  },
);

describe('the deployed asset', () => {
  const outdir = join(root, 'cdk.out');
  const entry = 'get-pet';
  let template: unknown;

  beforeAll(() => {
    const app = new App({ outdir });
    const stack = new Stack(app, 'Stack');
    new LambdaFunction(stack, entry, {
      runtime: Runtime.NODEJS_24_X,
      handler: `${entry}.handler`,
      code: functionCode(stack, entry, true),
    });
    template = app.synth().getStackByName('Stack').template;
  });

  it('is the bundle, and its hash depends only on its content', async () => {
    const Code = z.object({ S3Key: z.string() });
    const schema = z.object({
      Resources: z.record(z.string(), z.object({ Properties: z.object({ Code: Code.optional() }) })),
    });
    const keys = Object.values(schema.parse(template).Resources).flatMap(
      ({ Properties }) => Properties.Code ?? [],
    );
    const hash = keys[0]?.S3Key.replace(/\.zip$/, '');
    const directory = join(outdir, `asset.${hash}`);
    expect(await contentsOf(directory)).toEqual(
      await contentsOf(bundles.find((each) => each.entry === entry)!.directory),
    );
    expect(FileSystem.fingerprint(directory)).toBe(hash);
  });

  it('targets the Node.js version of the runtime', () => {
    const runtimes = resourcesOf(stackOf('AnimalStore-prod'), 'AWS::Lambda::Function').map(
      ([, { Properties }]) => Properties['Runtime'],
    );
    expect(new Set(runtimes)).toEqual(new Set([`${bundleOptions('').target.replace('node', 'nodejs')}.x`]));
  });
});

describe('bundling', () => {
  it('gives the same output in a project folder with special characters', async () => {
    const { entry, directory, metafile } = bundles[0]!;
    const project = join(root, "Zoë's $project & (Müller) [1]+");
    const sources = Object.keys(metafile.inputs).filter((path) => !path.includes(':'));
    const packages = sources.flatMap((path) => /.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? []);
    const descriptions = [...new Set(packages)].map((path) => `${path}/package.json`);
    // The plugin also looks for modules that only other functions have.
    const stubbed = Object.keys(stubbedModules).map((path) => `node_modules/${path}`);
    const settings = ['package.json', 'tsconfig.json'];
    for (const path of [...sources, ...descriptions, ...stubbed, ...settings])
      await cp(path, join(project, path));
    const output = join(root, 'special');
    await bundle(`functions/${entry}.ts`, output, { projectDirectory: project });
    expect(await contentsOf(output)).toEqual(await contentsOf(directory));
  });

  it.each([
    { development: false, source: 'functions/get-pet.ts' },
    { development: true, source: pathToFileURL('functions/get-pet.ts').href },
  ])('makes stack traces show TypeScript files and lines: $source', async ({ development, source }) => {
    const output = join(root, development ? 'development' : 'deployed');
    await bundle('functions/get-pet.ts', output, { development });
    const lines = (await readFile('functions/get-pet.ts', 'utf8')).split('\n');
    const throwing = lines.findIndex((line) => line.includes('z.parse(')) + 1;
    const script = "await import('./get-pet.mjs').catch((error) => console.log(error.stack))";
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--input-type=module', '--eval', script],
      { cwd: output, env: { ...environment, AWS_REGION: '' } },
    );
    expect(stdout).toContain(`${source}:${throwing}:`);
  });
});

async function contentsOf(directory: string): Promise<Record<string, string>> {
  const files = await readdir(directory);
  return Object.fromEntries(
    await Promise.all(files.map(async (file) => [file, await readFile(join(directory, file), 'utf8')])),
  );
}
