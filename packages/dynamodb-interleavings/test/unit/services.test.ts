import { APIGateway } from '@aws-sdk/client-api-gateway';
import { DynamoDB } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocument } from '@aws-sdk/lib-dynamodb';
import { describe, expect, test } from 'vitest';
import {
  type Environment,
  explore,
  type Options,
  refusal,
  type Service,
  type ServiceRequest,
  verify,
} from '../../src/index.ts';
import { Network, Tables, World } from '../../src/simulation.ts';

const tables = [
  {
    TableName: 'Keys',
    KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
    AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
  },
] as const satisfies Options['tables'];

interface Gateway {
  readonly keys: Map<string, boolean>;
  readonly uses: NonNullable<Service['uses']> | undefined;
}

/** API Gateway's keys: enabled or not. */
const serviceOf = ({ keys, uses }: Gateway): Service => ({
  answer: async ({ method, path, body }) => {
    await Promise.resolve();
    const name = method === 'POST' ? (JSON.parse(body) as { name: string }).name : path.split('/').at(-1)!;
    if (method === 'POST') keys.set(name, true);
    if (method === 'PATCH') keys.set(name, false);
    if (method === 'DELETE' && !keys.delete(name))
      return refusal(404, 'NotFoundException', 'Invalid API Key identifier specified');
    const status = method === 'POST' ? 201 : method === 'DELETE' ? 202 : 200;
    return { statusCode: status, body: JSON.stringify({ id: name, enabled: keys.get(name) }) };
  },
  refusals: { conflict: refusal(409, 'ConflictException', 'Unable to complete operation') },
  ...(uses && { uses }),
});
const gateway = ({ clientOf }: Environment<never>) => new APIGateway(clientOf('apigateway'));
const create = (name: string) => async (environment: Environment<never>) =>
  (await gateway(environment).createApiKey({ name })).id;
const disable = (name: string) => async (environment: Environment<never>) =>
  (
    await gateway(environment).updateApiKey({
      apiKey: name,
      patchOperations: [{ op: 'replace', path: '/enabled', value: 'false' }],
    })
  ).enabled;
const look = (name: string) => async (environment: Environment<never>) =>
  (await gateway(environment).getApiKey({ apiKey: name })).enabled;

/** The results of a run, each once. */
async function resultsOf(
  requests: readonly ((environment: Environment<never>) => Promise<unknown>)[],
  options: Partial<Options<Map<string, boolean>>> & Pick<Gateway, 'uses'> = { uses: undefined },
) {
  const results = new Set<string>();
  const report = await explore<Map<string, boolean>>({
    tables,
    shared: () => new Map(),
    namesShared: true,
    services: ({ shared: keys }) => ({ apigateway: serviceOf({ keys, uses: options.uses }) }),
    requests: requests as never,
    check: ({ outcomes, shared }) => {
      const said = outcomes.map((each) =>
        each.status === 'rejected' ? (each.reason as Error).name : Object.values(each).join(' '),
      );
      results.add([...said, JSON.stringify([...shared])].join(', '));
      return undefined;
    },
    ...options,
  });
  expect(report).toMatchObject({ isComplete: true, violations: 0 });
  return { results: [...results].toSorted(), schedules: report.schedules };
}

describe('another service', () => {
  test('answers in every order of its calls', async () => {
    const { results, schedules } = await resultsOf([disable('a'), look('a')]);
    expect(schedules).toBe(2);
    expect(results).toEqual(
      [
        'fulfilled false, fulfilled , [["a",false]]',
        'fulfilled false, fulfilled false, [["a",false]]',
      ].toSorted(),
    );
  });

  test('is called between two calls of DynamoDB, and nothing else is in its steps', async () => {
    const issue = async (environment: Environment<never>) => {
      const documents = DynamoDBDocument.from(new DynamoDB(environment.client));
      await documents.put({ TableName: 'Keys', Item: { id: 'a' } });
      await gateway(environment).createApiKey({ name: 'a' });
    };
    const revoke = async (environment: Environment<never>) => {
      const documents = DynamoDBDocument.from(new DynamoDB(environment.client));
      const { Attributes: old } = await documents.delete({
        TableName: 'Keys',
        Key: { id: 'a' },
        ReturnValues: 'ALL_OLD',
      });
      if (old)
        await gateway(environment)
          .deleteApiKey({ apiKey: 'a' })
          .catch(() => {});
    };
    const { failure } = await explore<Map<string, boolean>>({
      tables,
      shared: () => new Map(),
      namesShared: true,
      services: ({ shared: keys }) => ({ apigateway: serviceOf({ keys, uses: undefined }) }),
      requests: [issue, revoke] as never,
      check: ({ tables: stored, shared }) =>
        shared.size > stored.items('Keys').length ? 'A key has no record.' : undefined,
    });
    expect(failure!.trace.map((line) => line.replace(/ {2,}\S+:\d+$/, ''))).toEqual([
      '1 │  PutItem Keys {id: "a"} → done',
      '│ 2  DeleteItem Keys {id: "a"} → {id: "a"}',
      '│ 2  apigateway DELETE /apikeys/a → 404 {message: "Invalid API Key identifier specified"}',
      '1 │  apigateway POST /apikeys → 201 {id: "a", enabled: true}',
      '1 │  returns undefined',
      '│ 2  returns undefined',
    ]);
  });

  test('reads do not depend on each other, nor do parts that it names', async () => {
    expect(await resultsOf([look('a'), look('b')])).toMatchObject({ schedules: 1 });
    expect(await resultsOf([disable('a'), disable('b')])).toMatchObject({ schedules: 2 });
    const uses = ({ method, path }: ServiceRequest) =>
      ({ [path]: method === 'GET' ? 'read' : 'write' }) as const;
    expect(await resultsOf([disable('a'), disable('b')], { uses })).toMatchObject({ schedules: 1 });
    expect(await resultsOf([disable('a'), disable('a')], { uses })).toMatchObject({ schedules: 2 });
  });

  test.each([
    ['lostAfter', ['fulfilled a, [["a",true]]']],
    ['throttled', ['fulfilled a, [["a",true]]']],
    ['denied', ['AccessDeniedException, []', 'fulfilled a, [["a",true]]']],
    ['conflict', ['ConflictException, []', 'fulfilled a, [["a",true]]']],
    ['unreadableAfter', ['SyntaxError', 'fulfilled ', 'fulfilled a'].map((said) => `${said}, [["a",true]]`)],
    ['failedAfter', ['fulfilled a, [["a",true]]']],
    ['crashedAfter', ['crashed, [["a",true]]', 'fulfilled a, [["a",true]]']],
    ['crashedBefore', ['crashed, []', 'fulfilled a, [["a",true]]']],
  ] as const)('meets the fault %s', async (kind, expected) => {
    const { results } = await resultsOf([create('a')], { uses: undefined, faults: 1, kinds: [kind] });
    expect(results).toEqual([...expected].toSorted());
  });

  test('is lost before or after only if it writes', async () => {
    const both = { uses: undefined, faults: 1, kinds: ['crashedBefore', 'crashedAfter'] } as const;
    expect(await resultsOf([look('a')], both)).toMatchObject({ schedules: 2 });
    expect(await resultsOf([create('a')], both)).toMatchObject({ schedules: 3 });
  });

  test('that the simulation does not have ends the run', async () => {
    const calls = async (environment: Environment) => {
      await gateway(environment as never)
        .getApiKeys({})
        .catch(() => {});
    };
    await expect(verify({ tables, requests: [calls] })).rejects.toThrow(
      'A request calls a service that the simulation does not have: GET /apikeys at apigateway.eu-central-1.amazonaws.com.',
    );
  });

  test('of a simulation of its own is found by the signature', async () => {
    const [world, keys] = [new World(0, () => 0), new Map<string, boolean>()];
    const met: string[] = [];
    const network = new Network(world, new Tables(tables, () => world.now), (call) => {
      met.push(`${call.service} ${call.operation}`);
      call.fate = 'answered';
      void network.meet(call)();
    });
    network.serve('apigateway', serviceOf({ keys, uses: undefined }));
    const client = new APIGateway({
      endpoint: 'http://127.0.0.1:1',
      region: 'eu-central-1',
      credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
      requestHandler: network.handlerFor('the tool', () => {}, 1_000),
    });
    expect(await client.createApiKey({ name: 'a' })).toMatchObject({ enabled: true });
    await expect(client.deleteApiKey({ apiKey: 'b' })).rejects.toThrow(
      'Invalid API Key identifier specified',
    );
    expect(met).toEqual(['apigateway POST /apikeys', 'apigateway DELETE /apikeys/b']);
    expect([...keys]).toEqual([['a', true]]);
  });
});
