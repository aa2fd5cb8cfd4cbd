import { PutCommand } from '@aws-sdk/lib-dynamodb';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { newKey } from '../../functions/access/keys.ts';
import { createKey } from '../../tools/keys/commands/create.ts';
import { openKeyService } from '../../tools/keys/service.ts';
import { localStage, startLocalStack } from '../../tools/local/stack.ts';
import { localDynamoDb } from '../../tools/seed.ts';
import { Client } from '../../tools/smoke/client.ts';
import { idOf, resourcesOf, stackOf, theResource } from '../infrastructure/synthesis.ts';
import { inParallel, isLocal } from './support.ts';

/** The saved queries of prod, compared with the lines that the functions write when everything happens that they look for. */
describe.runIf(isLocal)('a saved query', () => {
  const prod = stackOf('AnimalStore-prod');
  const queries = resourcesOf(prod, 'AWS::Logs::QueryDefinition').map(([, { Properties }]) => {
    const { Name, QueryString, LogGroupNames } = z
      .object({
        Name: z.string(),
        QueryString: z.string(),
        LogGroupNames: z.array(z.unknown().transform(idOf)),
      })
      .parse(Properties);
    return [
      Name.replace('AnimalStore-prod/', ''),
      { text: QueryString, logs: LogGroupNames.map(writerOf) },
    ] as const;
  });

  const lines: Record<Writer, string[]> = { requests: [], authorizer: [], access: [] };
  let stop = async (): Promise<void> => {};
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'saved-queries-'));
    const service = await startLocalStack({
      port: 0,
      onLog: (functionId, line) => lines[writerOf(functionId)].push(line),
    });
    stop = () => service.stop();
    const { endpoint, outputs, url } = service;
    const keys = await openKeyService({ stage: localStage, endpoint });
    const { key } = await createKey(keys, { owner: 'queries', plan: 'free' });
    const client = new Client(url, key);

    const pet = JSON.stringify({ name: 'Bella', categoryId: 1 });
    const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': '1' };
    for (const _ of [1, 2]) await client.post(pet, headers);
    const Item = { id: 1, status: 'available', name: 7 };
    await localDynamoDb(endpoint).send(new PutCommand({ TableName: outputs['PetsTableName'], Item }));
    await client.send({ path: '/pets' });
    await client.send({ path: '/pets/1' });
    await new Client(url, newKey(localStage)).send({ path: '/pets' });
    const limits = { perMinute: 1, perDay: 1_000 };
    const limited = await createKey(keys, { owner: 'queries', plan: 'enterprise', ...limits });
    const flood = new Client(url, limited.key);
    await inParallel(Array.from({ length: 120 }), 20, () => flood.send({ path: '/pets?limit=1' }));
    await flood.send({ path: '/pets' });
    await writeFile(
      join(folder, 'get-pet.mjs'),
      "export const handler = () => { throw new Error('crash'); };",
    );
    await service.replaceCode('get-pet.handler', folder);
    const other = await createKey(keys, { owner: 'queries', plan: 'pro' });
    await new Client(url, other.key).send({ path: '/pets/1' });
  });
  afterAll(async () => {
    await stop();
    await rm(folder, { recursive: true });
  });

  const accessLog = z
    .object({ Format: z.string() })
    .parse(theResource(prod, 'AWS::ApiGateway::Stage')[1].Properties['AccessLogSetting']);

  /** The fields that Logs Insights finds. `record.status` is of Lambda's own lines, which only AWS writes. */
  const fieldsIn = (writer: Writer): ReadonlySet<string> =>
    new Set([
      '@timestamp',
      '@log',
      '@message',
      'record.status',
      ...(writer === 'access' ? [accessLog.Format] : lines[writer]).flatMap((line) =>
        fieldsOf(JSON.parse(line)),
      ),
    ]);

  it.each(queries)('uses only fields that are in its logs: %s', (_, { text, logs }) => {
    const known = new Set(logs.flatMap((writer) => [...fieldsIn(writer)]));
    const named = new Set([...text.matchAll(/\bas (\w+)/g)].map(([, name]) => name));
    const words = text
      .replaceAll(/'[^']*'|(?<![\w.])\d\w*/g, '')
      .replaceAll(
        /\b(fields|filter|stats|sort|limit|as|by|asc|desc|and|or|in|count|sum|max|bin|ispresent|strcontains)\b/g,
        ' ',
      )
      .match(/[@A-Za-z][\w.@]*/g);
    expect(words?.filter((word) => !named.has(word) && !known.has(word))).toEqual([]);
  });

  it('of errors finds every line of an error, also one of a crash, which has no operation', () => {
    const entries = lines.requests.map((line) =>
      z.looseObject({ level: z.string() }).parse(JSON.parse(line)),
    );
    const found = entries.filter(({ level }) => ['ERROR', 'FATAL'].includes(level));
    expect(found).toContainEqual(expect.objectContaining({ operation: 'getPet', status: 500 }));
    expect(found).toContainEqual(expect.objectContaining({ operation: 'listPets', MalformedItems: 1 }));
    expect(found.filter((entry) => !('operation' in entry))).toHaveLength(1);
  });
});

type Writer = 'requests' | 'authorizer' | 'access';

/** Who writes to a log group, or whose function it is, by its logical ID. */
function writerOf(logicalId: string): Writer {
  if (logicalId.startsWith('ApiAccessLogs')) return 'access';
  return logicalId.startsWith('FunctionsAuthorizer') ? 'authorizer' : 'requests';
}

function fieldsOf(value: unknown, path = ''): string[] {
  if (typeof value !== 'object' || value === null) return [path];
  return Object.entries(value).flatMap(([key, each]) => fieldsOf(each, path === '' ? key : `${path}.${key}`));
}
