import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openApiDocument, operationsOf, readDocument } from '../../tools/reference/document.ts';
import { isLocal, newClient } from './support.ts';

const run = promisify(execFile);
const operations = operationsOf(readDocument(await openApiDocument()));

/** The ID in the document's examples. */
const exampleId = '115448523194368';

/** What the sample of an operation prints, by its label. */
const outputs: Readonly<Record<string, Readonly<Record<string, RegExp>>>> = {
  listPets: {
    curl: /^HTTP\/1\.1 200 [^]*\r\n\r\n\[\{"id":\d+,.*\}\]$/,
    TypeScript: /^(?:\d+ .+\n){5,}$/,
    Python: /^(?:\d+ .+\n){5,20}$/,
  },
  createPet: {
    curl: /^HTTP\/1\.1 201 [^]*"name":"Rex"/,
    TypeScript: /^\d+ available\n$/,
    Python: /^\{'id': \d+, 'name': 'Rex', 'categoryId': 7, 'status': 'available'\}\n$/,
  },
  getPet: {
    curl: /^HTTP\/1\.1 200 [^]*"name":"Bella"/,
    TypeScript: /^Bella available\n$/,
    Python: /^\{'id': \d+, 'name': 'Bella', .*\}\n$/,
  },
};

describe.runIf(isLocal)('The code samples of docs/openapi.yaml', () => {
  it.each(operations)('of $operationId run against the service', async (operation) => {
    const client = await newClient('enterprise');
    const { text } = await client.post('{"name":"Bella","categoryId":7}');
    const [, id = ''] = /"id":(\d+)/.exec(text) ?? [];
    const env = { ...process.env, API: client.baseUrl, KEY: client.key };
    // Inside the project, so that the client's package is found.
    await mkdir('.local', { recursive: true });
    const directory = await mkdtemp('.local/samples-');
    onTestFinished(() => rm(directory, { recursive: true }));
    const commands: Readonly<Record<string, (source: string) => Promise<{ stdout: string }>>> = {
      curl: (source) => run('bash', ['-euo', 'pipefail', '-c', source], { env }),
      TypeScript: async (source) => {
        const file = join(directory, 'sample.ts');
        await writeFile(file, source);
        await writeFile(
          join(directory, 'tsconfig.json'),
          JSON.stringify({ extends: '../../tsconfig.json', include: ['sample.ts'], exclude: [] }),
        );
        await run(process.execPath, ['node_modules/typescript/bin/tsc', '--project', directory]);
        return run(process.execPath, [file], { env });
      },
      Python: (source) => run('python3', ['-c', source], { env }),
    };
    const samples = operation['x-codeSamples'];
    expect(samples.map(({ label }) => label)).toEqual(Object.keys(commands));
    for (const { label, source } of samples) {
      const { stdout } = await commands[label]!(source.replaceAll(exampleId, id));
      expect(stdout).toMatch(outputs[operation.operationId]![label]!);
    }
  });
});
