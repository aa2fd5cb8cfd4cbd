import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { isLocal } from './support.ts';

const run = promisify(execFile);

/** What the example under each heading of the documents prints. */
const outputs: Readonly<Record<string, RegExp>> = {
  'Add and get an animal': /^Rex is available\n$/,
  'List animals': /^(?:\d+ .+\n){5}$/,
  'Handle errors': /^400 invalid_request name: .+\n$/,
  'Retries, time-outs and cancelling': /^true\n$/,
  'Exact integers': /^9223372036854775807n\n$/,
  // docs/api.md
  'Get started in five minutes': /^(?:\d+ .+\n){5,}$/,
  'Stay within the rate limits': /^200\n$/,
};

const documents = await Promise.all(
  ['packages/client/README.md', 'docs/api.md'].map((path) => readFile(path, 'utf8')),
);
const examples = [...documents.join('\n').matchAll(/^## (.+)$(?:(?!^## )[^])*?^```ts\n([^]*?)^```$/gm)].map(
  ([, heading = '', code = '']) => ({ heading, code }),
);

describe.runIf(isLocal)('The packed client in a project of its own', () => {
  let directory: string;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'client-package-'));
    // The script "prepack" builds the package; .npmrc turns scripts off.
    await run('npm', [
      'pack',
      '--ignore-scripts=false',
      '--workspace',
      'animal-store-client',
      '--pack-destination',
      directory,
    ]);
    await writeFile(join(directory, 'package.json'), '{ "type": "module" }');
    const install = ['install', '--offline', '--no-audit', '--no-fund', './animal-store-client-1.0.0.tgz'];
    await run('npm', install, { cwd: directory });
    const compilerOptions = {
      strict: true,
      exactOptionalPropertyTypes: true,
      noEmit: true,
      target: 'es2022',
      module: 'nodenext',
      typeRoots: [resolve('node_modules/@types')],
      types: ['node'],
    };
    await writeFile(join(directory, 'tsconfig.json'), JSON.stringify({ compilerOptions }));
    for (const [index, { code }] of examples.entries())
      await writeFile(join(directory, `example-${index}.ts`), code);
  });

  afterAll(() => rm(directory, { recursive: true, force: true }));

  it('contains the built files and the documents, nothing else', async () => {
    const { stdout } = await run('tar', ['-tzf', join(directory, 'animal-store-client-1.0.0.tgz')]);
    const files = stdout
      .trim()
      .split('\n')
      .map((path) => path.replace(/^package\//, ''));
    expect(files.filter((path) => !/^dist\/[\w-]+\.(?:js|d\.ts)$/.test(path)).toSorted()).toEqual([
      'LICENSE',
      'README.md',
      'package.json',
    ]);
    expect(files).toContain('dist/index.js');
  });

  it('has declarations that the examples of its documents compile with', async () => {
    const tsc = resolve('node_modules/typescript/bin/tsc');
    await expect(run(process.execPath, [tsc, '--project', directory])).resolves.toMatchObject({ stdout: '' });
  });

  it('covers every heading that has an example', () => {
    expect(examples.map(({ heading }) => heading)).toEqual(Object.keys(outputs));
  });

  it.each(examples.map(({ heading }, index) => ({ heading, index })))(
    'runs the example: $heading',
    async ({ heading, index }) => {
      const { url, key } = inject('e2e');
      const env = { ...process.env, ANIMAL_STORE_URL: url, ANIMAL_STORE_KEY: key, API: url, KEY: key };
      const { stdout } = await run(process.execPath, [`example-${index}.ts`], { cwd: directory, env });
      expect(stdout).toMatch(outputs[heading] ?? /^$/);
    },
  );
});
