import { PutCommand } from '@aws-sdk/lib-dynamodb';
import { describe, expect, inject, test } from 'vitest';
import { newPetId } from '../../../functions/pets/ids.ts';
import { runPets } from '../../../tools/operators/pets/cli.ts';
import { Folder } from '../../service/pets-tool/folder.ts';
import { createTable } from '../../support/create-tables.ts';
import { runInProcess } from '../../support/run-in-process.ts';
import { isLocal } from './support.ts';

// Only a database says what a table is.

const pets = (...args: string[]) =>
  runInProcess(runPets, [...args, '--stage', 'local'], { local: inject('local')! });

describe.runIf(isLocal)('pets export --table', () => {
  test('reads a restored table, whose animals import adds to the own one', async () => {
    const restored = await createTable('pets');
    const id = Number(newPetId(Date.UTC(2026, 0, 1), 0.5));
    const animal = { id, name: 'restored', categoryId: 7, status: 'sold' };
    await restored.client.send(new PutCommand({ TableName: restored.tableName, Item: animal }));
    const file = (await Folder.make()).of('restored.jsonl');
    const exported = await pets('export', file, '--table', restored.tableName);
    expect(exported).toMatchObject({ exitCode: 0, stdout: `Exported 1 animal to ${file}.\n` });
    expect(await pets('import', file, '--replace', 'malformed')).toMatchObject({ exitCode: 0 });
    const { stdout } = await pets('remove', String(id));
    expect(JSON.parse(stdout)).toEqual(animal);
  });

  test('says that a table does not exist, or has no animals', async () => {
    for (const table of ['gone', 'not a name'])
      expect(await pets('export', '-', '--table', table)).toEqual({
        exitCode: 3,
        stdout: '',
        stderr: `Table ${table} does not exist in this account and Region.\n`,
      });
    const { tableName } = await createTable('apiKeys');
    expect(await pets('export', '-', '--table', tableName)).toMatchObject({
      exitCode: 2,
      stderr: `Table ${tableName} has no animals: its key is keyHash, not id.\n`,
    });
  });
});
