import {
  APIGatewayClient,
  BadRequestException,
  ConflictException,
  CreateApiKeyCommand,
  CreateUsagePlanKeyCommand,
  DeleteApiKeyCommand,
  DeleteUsagePlanKeyCommand,
  FlushStageAuthorizersCacheCommand,
  GetApiKeyCommand,
  GetApiKeysCommand,
  GetAuthorizersCommand,
  GetUsageCommand,
  GetUsagePlanCommand,
  GetUsagePlanKeyCommand,
  GetUsagePlanKeysCommand,
  GetUsagePlansCommand,
  NotFoundException,
  paginateGetApiKeys,
  UpdateApiKeyCommand,
} from '@aws-sdk/client-api-gateway';
import {
  CloudFormationClient,
  DescribeStacksCommand,
  ListStacksCommand,
} from '@aws-sdk/client-cloudformation';
import { DynamoDBClient, GetItemCommand, ListTablesCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { OfflineService } from 'cdk-offline';
import { serveWholeStack } from './whole-stack.ts';

const stackName = 'Management';
let service: OfflineService;
let logs: Awaited<ReturnType<typeof serveWholeStack>>['logs'];
let gateway: APIGatewayClient;
let plans: Record<'tiny' | 'daily' | 'free', string>;

const configuration = () => ({
  region: 'us-east-1',
  endpoint: service.endpoint,
  credentials: service.credentials,
});

beforeAll(async () => {
  ({ service, logs } = await serveWholeStack(stackName));
  gateway = new APIGatewayClient(configuration());
  plans = { tiny: output('Tiny'), daily: output('Daily'), free: output('Free') };
});

afterAll(async () => {
  await service.stop();
});

function output(name: string): string {
  return service.outputs[name] ?? '';
}

let count = 0;
async function createKey(name?: string): Promise<{ id: string; value: string }> {
  count += 1;
  const value = `value${String(count).padStart(30, '0')}`;
  const { id = '' } = await gateway.send(new CreateApiKeyCommand({ name, value, enabled: true }));
  return { id, value };
}

const bind = (usagePlanId: string, keyId: string) =>
  gateway.send(new CreateUsagePlanKeyCommand({ usagePlanId, keyId, keyType: 'API_KEY' }));

const call = async (value: string) =>
  (await fetch(`${service.url}/metered`, { headers: { Authorization: `Bearer key ${value}` } })).status;

describe('API keys, by the SDK', () => {
  it('are created, read, changed and deleted', async () => {
    const created = await gateway.send(
      new CreateApiKeyCommand({
        name: 'first',
        description: 'of all',
        value: 'firstkey0123456789012345',
        enabled: true,
        tags: { colour: 'red' },
      }),
    );
    expect(created).toMatchObject({
      id: expect.stringMatching(/^[0-9a-z]{10}$/),
      name: 'first',
      description: 'of all',
      value: 'firstkey0123456789012345',
      enabled: true,
      tags: { colour: 'red' },
      createdDate: expect.any(Date),
    });
    const apiKey = created.id;
    const hidden = await gateway.send(new GetApiKeyCommand({ apiKey }));
    expect(hidden).toMatchObject({ name: 'first', enabled: true });
    expect(hidden.value).toBeUndefined();
    const shown = await gateway.send(new GetApiKeyCommand({ apiKey, includeValue: true }));
    expect(shown.value).toBe('firstkey0123456789012345');
    await gateway.send(
      new UpdateApiKeyCommand({
        apiKey,
        patchOperations: [
          { op: 'replace', path: '/enabled', value: 'false' },
          { op: 'replace', path: '/name', value: 'second' },
          { op: 'replace', path: '/description', value: 'to none' },
        ],
      }),
    );
    expect(await gateway.send(new GetApiKeyCommand({ apiKey }))).toMatchObject({
      name: 'second',
      description: 'to none',
      enabled: false,
    });
    await gateway.send(new DeleteApiKeyCommand({ apiKey }));
    await expect(gateway.send(new GetApiKeyCommand({ apiKey }))).rejects.toThrow(NotFoundException);
    await expect(gateway.send(new DeleteApiKeyCommand({ apiKey }))).rejects.toThrow(NotFoundException);
  });

  it('a value of another key is rejected', async () => {
    const creation = gateway.send(new CreateApiKeyCommand({ value: 'templatekey0123456789' }));
    await expect(creation).rejects.toMatchObject({
      name: 'ConflictException',
      message: expect.stringContaining('already exists'),
    });
  });

  it('a patch of another property is rejected', async () => {
    const { id } = await createKey();
    const patchOperations = [{ op: 'add', path: '/labels', value: 'x' } as const];
    await expect(
      gateway.send(new UpdateApiKeyCommand({ apiKey: id, patchOperations })),
    ).rejects.toMatchObject({ name: 'BadRequestException' });
  });

  it('are listed by name prefix, page by page', async () => {
    const made = await Promise.all(Array.from({ length: 7 }, (_, index) => createKey(`listed-${index}`)));
    await createKey('unlisted');
    const found: string[] = [];
    let pages = 0;
    for await (const { items = [] } of paginateGetApiKeys(
      { client: gateway, pageSize: 3 },
      { nameQuery: 'listed-' },
    )) {
      pages += 1;
      expect(items.length).toBeLessThanOrEqual(3);
      expect(items.every(({ value }) => value === undefined)).toBe(true);
      found.push(...items.map(({ id = '' }) => id));
    }
    expect(pages).toBe(3);
    expect(found.toSorted()).toEqual(made.map(({ id }) => id).toSorted());
    const { items = [] } = await gateway.send(
      new GetApiKeysCommand({ nameQuery: 'listed-3', includeValues: true }),
    );
    expect(items.map(({ value }) => value)).toEqual([made[3]?.value]);
  });
});

describe('usage plans, by the SDK', () => {
  it('are those of the template', async () => {
    const { items = [] } = await gateway.send(new GetUsagePlansCommand({}));
    expect(new Set(items.map(({ name }) => name))).toEqual(new Set(['daily', 'free', 'tiny']));
    expect(await gateway.send(new GetUsagePlanCommand({ usagePlanId: plans.tiny }))).toMatchObject({
      id: plans.tiny,
      name: 'tiny',
      throttle: { rateLimit: 0.001, burstLimit: 2 },
      apiStages: [{ apiId: output('ApiId'), stage: 'v7' }],
    });
    expect(await gateway.send(new GetUsagePlanCommand({ usagePlanId: plans.daily }))).toMatchObject({
      quota: { limit: 2, period: 'DAY', offset: 0 },
    });
    await expect(gateway.send(new GetUsagePlanCommand({ usagePlanId: 'none' }))).rejects.toThrow(
      NotFoundException,
    );
  });

  it('a key can be added and removed, and is in one plan for each stage', async () => {
    const { id: keyId, value } = await createKey('bound');
    await bind(plans.tiny, keyId);
    await expect(bind(plans.tiny, keyId)).rejects.toThrow(ConflictException);
    await expect(bind(plans.free, keyId)).rejects.toThrow(ConflictException);
    await expect(bind(plans.free, 'none')).rejects.toThrow(NotFoundException);
    expect(await gateway.send(new GetUsagePlanKeyCommand({ usagePlanId: plans.tiny, keyId }))).toMatchObject({
      id: keyId,
      type: 'API_KEY',
      name: 'bound',
      value,
    });
    const { items = [] } = await gateway.send(
      new GetUsagePlanKeysCommand({ usagePlanId: plans.tiny, nameQuery: 'bou' }),
    );
    expect(items.map(({ id }) => id)).toEqual([keyId]);
    const ofKey = await gateway.send(new GetUsagePlansCommand({ keyId }));
    expect(ofKey.items?.map(({ name }) => name)).toEqual(['tiny']);
    expect((await gateway.send(new GetApiKeyCommand({ apiKey: keyId }))).stageKeys).toEqual([
      `${output('ApiId')}/v7`,
    ]);

    await gateway.send(new DeleteUsagePlanKeyCommand({ usagePlanId: plans.tiny, keyId }));
    await expect(
      gateway.send(new GetUsagePlanKeyCommand({ usagePlanId: plans.tiny, keyId })),
    ).rejects.toThrow(NotFoundException);
    await bind(plans.free, keyId);
  });

  it('throttle each key by its burst: 429 with the headers of the template', async () => {
    const { id, value } = await createKey();
    const other = await createKey();
    await bind(plans.tiny, id);
    await bind(plans.tiny, other.id);
    expect([await call(value), await call(value), await call(value)]).toEqual([200, 200, 429]);
    const response = await fetch(`${service.url}/metered`, {
      headers: { Authorization: `Bearer key ${value}` },
    });
    expect(response.headers.get('retry-after')).toBe('60');
    expect(response.headers.get('x-limit')).toBe('300');
    expect(response.headers.get('x-amzn-errortype')).toBe('TooManyRequestsException');
    expect(await call(other.value)).toBe(200);
  });

  it('limit each key by its quota, and report its usage', async () => {
    // Quotas end at midnight UTC.
    vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2036-07-01T12:00:00Z') });
    onTestFinished(() => void vi.useRealTimers());
    const { id: keyId, value } = await createKey();
    await bind(plans.daily, keyId);
    const day = new Date().toISOString().slice(0, 10);
    expect([await call(value), await call(value), await call(value)]).toEqual([200, 200, 429]);
    const usage = await gateway.send(
      new GetUsageCommand({
        usagePlanId: plans.daily,
        keyId,
        startDate: '2026-01-01',
        endDate: '2026-01-02',
      }),
    );
    expect(usage.items).toEqual({
      [keyId]: [
        [0, 2],
        [0, 2],
      ],
    });
    const today = await gateway.send(
      new GetUsageCommand({ usagePlanId: plans.daily, startDate: day, endDate: day }),
    );
    expect(today.items).toEqual({ [keyId]: [[2, 0]] });
  });

  it.each([
    ['2026-01-01', '2026-03-31', 90],
    ['2026-01-01', '2026-04-01', undefined],
    ['0001-01-01', '9999-12-31', undefined],
    ['2026-01-02', '2026-01-01', undefined],
  ])('report the usage of %s to %s: %s days', async (startDate, endDate, days) => {
    const { id: keyId } = await createKey();
    await bind(plans.daily, keyId);
    const usage = gateway.send(new GetUsageCommand({ usagePlanId: plans.daily, keyId, startDate, endDate }));
    if (days === undefined) await expect(usage).rejects.toThrow(BadRequestException);
    else expect((await usage).items?.[keyId ?? '']).toHaveLength(days);
  });
});

describe('a call without the credentials of this run', () => {
  it.each([
    ['no token', () => ''],
    ['another token', (token: string) => token.replaceAll(/./g, '0')],
    ['a part of the token', (token: string) => token.slice(1)],
  ])('shows and changes nothing: %s', async (_, tokenFrom) => {
    // The SDK sends no empty token.
    const sessionToken = tokenFrom(service.credentials.sessionToken);
    const credentials = { accessKeyId: 'any', secretAccessKey: 'any', sessionToken };
    const stranger = { ...configuration(), credentials };
    const refused = { name: 'UnrecognizedClientException' };
    const database = new DynamoDBClient(stranger);
    await expect(database.send(new ListTablesCommand({}))).rejects.toMatchObject(refused);
    const value = 'strangers0123456789012345';
    const api = new APIGatewayClient(stranger);
    await expect(api.send(new GetApiKeysCommand({ includeValues: true }))).rejects.toMatchObject(refused);
    await expect(api.send(new CreateApiKeyCommand({ value, enabled: true }))).rejects.toMatchObject(refused);
    await expect(
      new CloudFormationClient(stranger).send(new DescribeStacksCommand({})),
    ).rejects.toMatchObject({ name: 'InvalidClientTokenId' });
    const { items = [] } = await gateway.send(new GetApiKeysCommand({ includeValues: true, limit: 500 }));
    expect(items.map((key) => key.value)).not.toContain(value);
  });

  it('has other credentials in each run', async () => {
    const { service: other } = await serveWholeStack(stackName);
    onTestFinished(() => other.stop());
    expect(other.credentials.sessionToken).not.toBe(service.credentials.sessionToken);
    const { endpoint } = other;
    const listed = new APIGatewayClient({ ...configuration(), endpoint }).send(new GetApiKeysCommand({}));
    await expect(listed).rejects.toMatchObject({ name: 'UnrecognizedClientException' });
  });
});

describe('other AWS services', () => {
  it('FlushStageAuthorizersCache empties the authorizer cache', async () => {
    const asked = async () => {
      const response = await fetch(`${service.url}/guarded`, { headers: { Authorization: 'Bearer allow' } });
      const { event } = (await response.json()) as {
        event: { requestContext: { authorizer: { asked: string } } };
      };
      return event.requestContext.authorizer.asked;
    };
    const first = await asked();
    expect(await asked()).toBe(first);
    await gateway.send(
      new FlushStageAuthorizersCacheCommand({ restApiId: output('ApiId'), stageName: 'v7' }),
    );
    expect(await asked()).not.toBe(first);
    await expect(
      gateway.send(new FlushStageAuthorizersCacheCommand({ restApiId: 'none', stageName: 'v7' })),
    ).rejects.toThrow(NotFoundException);
  });

  it('CloudFormation describes the stack, and no other one', async () => {
    const client = new CloudFormationClient(configuration());
    const { Stacks } = await client.send(new DescribeStacksCommand({ StackName: stackName }));
    expect(Stacks).toHaveLength(1);
    expect(Stacks?.[0]).toMatchObject({ StackName: stackName, StackStatus: 'CREATE_COMPLETE' });
    const outputs = Stacks?.[0]?.Outputs ?? [];
    expect(
      Object.fromEntries(outputs.map(({ OutputKey = '', OutputValue }) => [OutputKey, OutputValue])),
    ).toEqual(service.outputs);
    const byId = await client.send(new DescribeStacksCommand({ StackName: Stacks?.[0]?.StackId }));
    expect(byId.Stacks).toHaveLength(1);
    await expect(client.send(new DescribeStacksCommand({ StackName: 'A & B' }))).rejects.toMatchObject({
      name: 'ValidationError',
      message: 'Stack with id A & B does not exist',
    });
    await expect(client.send(new ListStacksCommand({}))).rejects.toMatchObject({ name: 'InvalidAction' });
  });

  it('DynamoDB is available at the same endpoint', async () => {
    const client = new DynamoDBClient(configuration());
    const TableName = output('Goods');
    await client.send(new PutItemCommand({ TableName, Item: { id: { N: '1' }, colour: { S: 'grün' } } }));
    const { Item } = await client.send(new GetItemCommand({ TableName, Key: { id: { N: '1' } } }));
    expect(Item?.['colour']).toEqual({ S: 'grün' });
    await expect(
      client.send(new GetItemCommand({ TableName: 'none', Key: { id: { N: '1' } } })),
    ).rejects.toMatchObject({ name: 'ResourceNotFoundException' });
  });

  it('lines written to CloudWatch Logs are passed to onLog', async () => {
    const write = (operation: string, body: object) => callLogs(operation, JSON.stringify(body));
    expect((await write('CreateLogStream', { logGroupName: 'audit', logStreamName: 's' })).status).toBe(200);
    const events = {
      logGroupName: 'audit',
      logStreamName: 's',
      logEvents: [{ timestamp: 1, message: 'who, when' }],
    };
    expect((await write('PutLogEvents', events)).status).toBe(200);
    expect(logs).toContainEqual({ from: 'audit', line: 'who, when' });
    expect((await write('StartQuery', {})).status).toBe(400);
  });

  it.each(['', '{', 'null', '"text"', '{"logGroupName":"audit","logEvents":"text"}'])(
    'PutLogEvents rejects the body %j',
    async (body) => {
      const response = await callLogs('PutLogEvents', body);
      expect(response.status).toBe(400);
      expect(await response.json()).toEqual({
        __type: expect.stringMatching(/^(?:SerializationException|InvalidParameterException)$/),
        message: expect.any(String),
      });
    },
  );

  const callLogs = (operation: string, body: string) =>
    fetch(service.endpoint, {
      method: 'POST',
      headers: { ...signedFor('logs'), 'X-Amz-Target': `Logs_20140328.${operation}` },
      body,
    });

  it('an operation that is not supported is rejected', async () => {
    await expect(
      gateway.send(new GetAuthorizersCommand({ restApiId: output('ApiId') })),
    ).rejects.toMatchObject({ name: 'UnknownOperationException' });
  });

  it('a path that is not valid percent-encoding gets 400', async () => {
    const response = await fetch(`${service.endpoint}/apikeys/%ZZ`, { headers: signedFor('apigateway') });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ __type: 'BadRequestException' });
  });

  it('a signed request to a path of the API goes to the API', async () => {
    const response = await fetch(`${service.url}/echo`, { headers: signedFor('apigateway') });
    expect(response.headers.get('x-made-by')).toBe('echo');
  });
});

function signedFor(name: string): Record<string, string> {
  return {
    Authorization: `AWS4-HMAC-SHA256 Credential=any/20260101/us-east-1/${name}/aws4_request, SignedHeaders=host, Signature=00`,
    'X-Amz-Security-Token': service.credentials.sessionToken,
  };
}
