import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { describeService } from '../../../tools/contributors/openapi/output/document.ts';
import { toVersion30 } from '../../../tools/contributors/openapi/output/version-3.0.ts';

const run = promisify(execFile);

it('docs/openapi.yaml, parts of the pages and the types of the client are what `npm run openapi` writes', async () => {
  expect(await run(process.execPath, ['tools/run.mjs', 'openapi', '--check'])).toEqual({
    stdout: '',
    stderr: '',
  });
});

async function written(name: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'openapi-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, name);
  await run(process.execPath, ['tools/run.mjs', 'openapi', '--openapi', '3.0', file]);
  return file;
}

const linter = 'tools/contributors/checks/node_modules/.bin/redocly';
const isInstalled = existsSync(linter);
if (!isInstalled)
  console.warn('OpenAPI 3.0 is not linted: run "npm --prefix tools/contributors/checks ci". CI does.');

it.runIf(isInstalled)('the document in version 3.0 is valid', async () => {
  const options = ['lint', '--extends', 'recommended-strict', '--format', 'json', await written('a.yaml')];
  const quiet = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
  const { stdout } = await run(process.execPath, [linter, ...options], {
    env: { ...process.env, ...quiet },
  });
  expect(JSON.parse(stdout)).toMatchObject({ totals: { errors: 0, warnings: 0, ignored: 0 } });
});

it('the file is JSON or YAML, by its name', async () => {
  const json = JSON.parse(await readFile(await written('a.json'), 'utf8')) as unknown;
  expect(json).toMatchObject({ openapi: '3.0.3' });
  expect(parse(await readFile(await written('a.yml'), 'utf8'))).toEqual(json);
});

it.each([
  ['no file', '--openapi and FILE need each other', '--openapi', '3.0'],
  ['another version', 'Allowed choices are 3.0.', '--openapi', '2.0', 'a.yaml'],
  ['no version', '--openapi and FILE need each other', 'a.yaml'],
  ['the check', "cannot be used with option '--check'", '--openapi', '3.0', '--check', 'a.yaml'],
])('options with %s are refused, and nothing is written', async (_, message, ...options) => {
  await expect(run(process.execPath, ['tools/run.mjs', 'openapi', ...options])).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringContaining(message) as string,
  });
  expect(existsSync('a.yaml')).toBe(false);
});

const made = toVersion30(describeService()) as unknown as ReturnType<typeof describeService>;

it('nothing stands beside a reference, and what did is kept', () => {
  const siblings = JSON.stringify(made)
    .match(/\{[^{}]*"\$ref"[^{}]*\}/g)!
    .filter((each) => each.includes(','));
  expect(siblings).toEqual([]);
  const { properties } = made.components.schemas['NewPet'] as { readonly properties: object };
  expect(properties).toHaveProperty('status', {
    description: expect.stringContaining('when omitted') as string,
    example: 'available',
    allOf: [{ $ref: '#/components/schemas/PetStatus' }],
  });
  const { responses } = made.paths['/pets']!['post'] as { readonly responses: object };
  expect(responses).toHaveProperty('503.description', expect.stringContaining('may have been created'));
  expect(responses).toHaveProperty('503.content');
});

it('constants and exclusive limits, which the schemas do not have yet, are those of 3.0', () => {
  const schema = { examples: [1, 2], const: 1, exclusiveMinimum: 0, exclusiveMaximum: 9 };
  const document = { ...describeService(), components: { responses: {}, schemas: { schema } } };
  expect(toVersion30(document)).toMatchObject({
    components: {
      schemas: {
        schema: {
          example: 1,
          enum: [1],
          minimum: 0,
          exclusiveMinimum: true,
          maximum: 9,
          exclusiveMaximum: true,
        },
      },
    },
  });
});
