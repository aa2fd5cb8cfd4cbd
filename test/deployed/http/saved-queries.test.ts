import { DeleteCommand, PutCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import * as z from 'zod';
import { hashOfKey, newKey } from '../../../functions/access/keys.ts';
import { indefinitely, setSuspension } from '../../../tools/operators/keys/key-usage.ts';
import { openKeyService } from '../../../tools/operators/keys/service.ts';
import { openPetService } from '../../../tools/operators/pets/service.ts';
import { localStage } from '../../../tools/contributors/local/stack.ts';
import { type Ask, Client, type Reply } from '../../../tools/operators/smoke/client.ts';
import { nextOf } from '../../../tools/operators/smoke/expectations.ts';
import { idOf, resourcesOf, stacksOf, theResource } from '../templates/synthesis.ts';
import { isLocal, newClient } from './support.ts';

/** The saved queries of prod, compared with the lines that the functions write when everything happens that they look for. */
describe.runIf(isLocal)('a saved query', () => {
  // CDK's own template validation takes seconds. `npm run synth` does it.
  vi.stubEnv('CDK_VALIDATION', 'false');
  afterAll(() => void vi.unstubAllEnvs());
  const prod = stacksOf({ stage: 'prod' }).get('AnimalStore-prod')!;
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

  /** What the functions have logged. */
  let log: [label: string, line: string][] = [];
  const linesOf = (writer: Writer): string[] =>
    log.filter(([label]) => writerOf(label) === writer).map(([, line]) => line);
  /** The IDs of the requests. */
  const ids: string[] = [];

  beforeAll(async () => {
    const { endpoint, credentials } = inject('local')!;
    const address = { endpoint, credentials };
    const client = await newClient('free');
    const send = async (ask: Ask): Promise<Reply> => {
      const reply = await client.send(ask);
      ids.push(reply.headers.get('x-request-id')!);
      return reply;
    };
    const pet = JSON.stringify({ name: 'Bella', categoryId: 1 });
    const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': '1' };
    for (const _ of [1, 2]) await send({ method: 'POST', path: '/pets', headers, body: pet });
    // It is the oldest animal, so no other test meets it.
    const animals = await openPetService({ stage: localStage, ...address });
    const TableName = animals.table.tableName;
    const Key = { id: 2 };
    const Item = { ...Key, status: 'pending', name: 7 };
    await animals.table.client.send(new PutCommand({ TableName, Item }));
    let path: string | undefined = '/pets?status=pending&limit=100';
    while (path !== undefined) path = nextOf(await send({ path }));
    await send({ path: '/pets/2' });
    await animals.table.client.send(new DeleteCommand({ TableName, Key }));
    animals.close();
    const keys = await openKeyService({ stage: localStage, ...address });
    await setSuspension(keys.limitTable, hashOfKey(client.key), indefinitely, keys.now());
    keys.close();
    await send({ path: '/pets' });
    await new Client(client.baseUrl, newKey(localStage)).send({ path: '/pets' });

    // A line follows the answer to its request.
    await vi.waitUntil(async () => {
      const answer = await fetch(`${endpoint}/log`);
      log = z.array(z.tuple([z.string(), z.string()])).parse(await answer.json());
      const logged = linesOf('requests').join('');
      return ids.every((id) => logged.includes(id)) && linesOf('authorizer').join('').includes('denied');
    }, 60_000);
    log = log.filter(
      ([label, line]) => writerOf(label) === 'authorizer' || ids.some((id) => line.includes(id)),
    );
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
      ...(writer === 'access' ? [accessLog.Format] : linesOf(writer)).flatMap((line) =>
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

  it('of errors finds the lines of malformed animals', () => {
    const entries = linesOf('requests')
      .map((line) => z.looseObject({ level: z.string() }).parse(JSON.parse(line)))
      .filter(({ level }) => ['ERROR', 'FATAL'].includes(level));
    expect(entries).toHaveLength(2);
    expect(entries).toContainEqual(expect.objectContaining({ operation: 'listPets', MalformedItems: 1 }));
    expect(entries).toContainEqual(expect.objectContaining({ operation: 'getPet', status: 500 }));
  });
});

type Writer = 'requests' | 'authorizer' | 'access';

/** Who writes to a log group, by its logical ID, or which kind of function it is, by its label. */
function writerOf(name: string): Writer {
  if (name.startsWith('ApiAccessLogs')) return 'access';
  return /^(?:FunctionsAuthorizer|authorizer$)/.test(name) ? 'authorizer' : 'requests';
}

function fieldsOf(value: unknown, path = ''): string[] {
  if (typeof value !== 'object' || value === null) return [path];
  return Object.entries(value).flatMap(([key, each]) => fieldsOf(each, path === '' ? key : `${path}.${key}`));
}
