import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readAssembly } from '../../src/template/assembly.ts';
import { removeDirectory } from '../integration/template.ts';

async function write(files: Readonly<Record<string, object>>): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'assembly-'));
  onTestFinished(() => removeDirectory(directory));
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(directory, name)), { recursive: true });
    await writeFile(join(directory, name), JSON.stringify(content));
  }
  return directory;
}

const stack = (templateFile: string, properties: object = {}) => ({
  type: 'aws:cloudformation:stack',
  properties: { templateFile, ...properties },
});
const template = (name: string, more: object = {}) => ({
  Resources: { [name]: { Type: 'AWS::X::Y', ...more } },
});
const asset = (path: string, objectKey: string) => ({
  files: { one: { source: { path, packaging: 'zip' }, destinations: { here: { objectKey } } } },
});

/** As `cdk synth` writes it for two stacks and a stage with one. */
const app = {
  'manifest.json': {
    artifacts: {
      Plain: stack('plain.json', { stackName: 'plain-name' }),
      Importing: stack('importing.json'),
      Assets: { type: 'cdk:asset-manifest', properties: { file: 'assets.json' } },
      'assembly-Prod': { type: 'cdk:cloud-assembly', properties: { directoryName: 'assembly-Prod' } },
      Tree: { type: 'cdk:tree', properties: { file: 'tree.json' } },
    },
  },
  'plain.json': template('InPlain'),
  'importing.json': template('InImporting', { Properties: { A: { 'Fn::ImportValue': 'x' } } }),
  'assets.json': asset('asset.a', 'a.zip'),
  'assembly-Prod/manifest.json': {
    artifacts: {
      ProdApi1234: { ...stack('api.json', { stackName: 'Prod-Api' }), displayName: 'Prod/Api' },
      Assets: { type: 'cdk:asset-manifest', properties: { file: 'assets.json' } },
    },
  },
  'assembly-Prod/api.json': template('InProd'),
  'assembly-Prod/assets.json': asset('/elsewhere/asset.b', 'b.zip'),
};

describe('a cloud assembly', () => {
  it.each([
    ['Plain', 'InPlain', 'plain-name'],
    ['plain-name', 'InPlain', 'plain-name'],
    ['ProdApi1234', 'InProd', 'Prod-Api'],
    ['Prod/Api', 'InProd', 'Prod-Api'],
    ['Prod-Api', 'InProd', 'Prod-Api'],
  ])('has the stack %s by its artifact ID, path and name', async (wanted, resource, name) => {
    const found = await readAssembly(await write(app), wanted);
    expect(found.stack.name).toBe(name);
    expect(Object.keys(found.stack.template.Resources)).toEqual([resource]);
  });

  it('has assets by relative and absolute paths', async () => {
    const directory = await write(app);
    const { assets } = await readAssembly(directory, 'Plain');
    expect([...assets].map(([key, { path }]) => [key, path])).toEqual([
      ['a.zip', join(directory, 'asset.a')],
      ['b.zip', '/elsewhere/asset.b'],
    ]);
  });

  it('has the assets of the legacy synthesizer, and the parameters that name them', async () => {
    const data = {
      path: 'asset.c',
      id: 'c',
      packaging: 'zip',
      s3BucketParameter: 'Bucket',
      s3KeyParameter: 'Key',
      artifactHashParameter: 'Hash',
    };
    const metadata = {
      '/Old': [
        { type: 'aws:cdk:logicalId', data: 'A' },
        { type: 'aws:cdk:asset', data },
      ],
    };
    const files = {
      'manifest.json': { artifacts: { Old: { ...stack('old.json'), metadata } } },
      'old.json': template('InOld'),
    };
    const directory = await write(files);
    const { stack: old, assets } = await readAssembly(directory, 'Old');
    expect(old.assetParameters).toEqual({ Bucket: 'assets', Key: 'legacy/||c.zip', Hash: 'c' });
    expect(assets.get('legacy/c.zip')).toEqual({ path: join(directory, 'asset.c'), packaging: 'zip' });
  });

  it('has the other stacks of the same app, without those that are not supported', async () => {
    const directory = await write(app);
    const siblings = async (wanted: string) =>
      (await readAssembly(directory, wanted)).siblings.map(({ name }) => name);
    expect(await siblings('Importing')).toEqual(['plain-name']);
    expect(await siblings('Plain')).toEqual(['Importing']);
    await writeFile(join(directory, 'plain.json'), JSON.stringify({ ...template('A'), Transform: 'macro' }));
    expect(await siblings('Importing')).toEqual([]);
  });

  it('has one stack that needs not be named: the one with a REST API, or the only one', async () => {
    const api = template('Api', { Type: 'AWS::ApiGateway::RestApi' });
    const withApi = await write({ ...app, 'assembly-Prod/api.json': api });
    expect((await readAssembly(withApi, undefined)).stack.name).toBe('Prod-Api');
    const alone = await write({
      'manifest.json': { artifacts: { Alone: stack('a.json') } },
      'a.json': template('A'),
    });
    expect((await readAssembly(alone, undefined)).stack.name).toBe('Alone');
    await expect(readAssembly(await write(app), undefined)).rejects.toThrow(
      /has no stack with a REST API, and .* It has: Plain, Importing, Prod\/Api\.$/,
    );
    const several = await write({ ...app, 'assembly-Prod/api.json': api, 'plain.json': api });
    await expect(readAssembly(several, undefined)).rejects.toThrow(
      /has several stacks with a REST API\. Choose one with --stack: Plain, Prod\/Api\.$/,
    );
  });

  it('names its stacks when it does not have the wanted one', async () => {
    await expect(readAssembly(await write(app), 'Prod')).rejects.toThrow(
      /has no stack Prod, or several\. It has: Plain, Importing, Prod\/Api\.$/,
    );
    await expect(readAssembly(await write({}), 'Prod')).rejects.toThrow(
      /manifest\.json cannot be read: run "cdk synth" first/,
    );
  });
});
