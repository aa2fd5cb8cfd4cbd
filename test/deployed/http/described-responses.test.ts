import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { errorCatalogue } from '../../../functions/http/errors.ts';
import { isWriteOperation, operations } from '../../../functions/operations.ts';
import { createKey } from '../../../tools/operators/keys/commands/create.ts';
import { openKeyService } from '../../../tools/operators/keys/service.ts';
import { type LocalService, serve } from '../../../tools/contributors/local/serve.ts';
import { localStage } from '../../../tools/contributors/local/stack.ts';
import { withoutReferences } from '../../support/openapi-document.ts';
import { rejectedByGateway } from '../../../tools/contributors/openapi/errors.ts';
import { type Ask, Client, type Reply } from '../../../tools/operators/smoke/client.ts';
import { DynamoDbProxy, type ProxyFate } from '../../support/dynamodb-proxy.ts';
import { AnswerValidator } from '../../support/openapi-validator.ts';
import { isLocal } from './support.ts';

/**
 * Every response that docs/openapi.yaml describes is provoked, for every operation, and has the described body and headers: one
 * that never occurs is found. So is a response to a wrong request that is not described.
 */

const header = z.object({ schema: z.object({ examples: z.array(z.unknown()).optional() }) });
const operationObject = z.object({
  operationId: z.string(),
  parameters: z.array(
    z.object({ name: z.string(), in: z.string(), schema: z.object({ maximum: z.number().optional() }) }),
  ),
  requestBody: z
    .object({
      content: z.object({
        'application/json': z.object({ examples: z.object({ request: z.object({ value: z.unknown() }) }) }),
      }),
    })
    .optional(),
  responses: z.record(
    z.string(),
    z.object({ description: z.string(), headers: z.record(z.string(), header) }),
  ),
});
const { paths } = z
  .object({ paths: z.record(z.string(), z.record(z.string(), operationObject)) })
  .parse(
    withoutReferences(
      z.record(z.string(), z.unknown()).parse(parse(readFileSync('docs/openapi.yaml', 'utf8'))),
    ),
  );

const described = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, each]) => ({ ...each, path, method: method.toUpperCase() })),
);
type Described = (typeof described)[number];
const answers = described
  .flatMap((of) =>
    Object.entries(of.responses).map(([status, { headers, description }]) => ({
      title: `${of.operationId} ${status}`,
      description,
      of,
      status: Number(status),
      headers,
    })),
  )
  // Only API Gateway itself gives it, for a URL that is too long.
  .filter(({ description }) => description !== rejectedByGateway);

/** Headers that only some answers have, and that no request below provokes. */
const rareHeaders: Readonly<Record<string, string>> = {
  'getPet 401 Deprecation': 'of a key that expires while the result of the authorizer is cached',
  'getPet 401 Sunset': 'the same',
  'getPet 401 Link': 'the same',
};

const validator = new AnswerValidator();
let proxy: DynamoDbProxy;
let stack: LocalService;
let client: Client;

beforeAll(async () => {
  if (!isLocal) return;
  const { assembly } = inject('local')!;
  proxy = await DynamoDbProxy.start();
  stack = await serve({ port: 0, assembly, dynamodbEndpoint: proxy.endpoint });
  client = await newClient();
  // The list has two pages of one animal.
  await client.post('{"name":"Rex","categoryId":7}');
  await client.post('{"name":"Bella","categoryId":7}');
});

afterEach(() => {
  if (isLocal) proxy.reset();
});

afterAll(async () => {
  if (!isLocal) return;
  await stack.stop();
  proxy.stop();
});

async function newClient(perMinute = 60_000): Promise<Client> {
  const { endpoint, credentials, url } = stack;
  const service = await openKeyService({ stage: localStage, endpoint, credentials });
  const limits = { perMinute, perDay: 10_000_000 };
  const { key } = await createKey(service, { owner: 'tests', plan: 'enterprise', ...limits });
  service.close();
  return new Client(url, key);
}

const sampleOf = ({ requestBody }: Described) =>
  requestBody?.content['application/json'].examples.request.value;
const withId = (path: string, id: unknown) => path.replaceAll(/\{\w+\}/g, String(id));

/** The ID of an item of its own, or if the collection has no creation, what samples have in the field of that name. */
async function idFor(path: string): Promise<unknown> {
  const [, collection, parameter = ''] = /^(.*?)\/\{(\w+)\}/.exec(path)!;
  const creation = described.find((each) => each.method === 'POST' && each.path === collection);
  if (creation === undefined) return Object.assign({}, ...described.map(sampleOf))[parameter];
  const { text } = await client.send({
    method: 'POST',
    path: creation.path,
    body: JSON.stringify(sampleOf(creation)),
    headers: { 'Content-Type': 'application/json' },
  });
  return z.object({ id: z.unknown() }).parse(JSON.parse(text)).id;
}

/** A request that succeeds. */
async function validRequest(of: Described): Promise<Ask> {
  const { path, method } = of;
  const body = sampleOf(of);
  return {
    method,
    path: path.includes('{') ? withId(path, await idFor(path)) : path,
    ...(body !== undefined && {
      body: JSON.stringify(body),
      headers: { 'Content-Type': 'application/json' },
    }),
  };
}

/** The result of the authorizer is cached, and the limiter admits what it cannot count. */
async function whileDynamoDb(fate: ProxyFate, request: Ask): Promise<Reply[]> {
  proxy.fate = () => fate;
  return [await client.send(request)];
}

/** The calls of DynamoDB for it are then those of the proxy. */
async function whileLimited(request: Ask): Promise<Reply> {
  const send = async () => {
    const limited = await newClient(1);
    await limited.send({ path: '/pets?limit=1' });
    proxy.reset();
    return limited.send(request);
  };
  const reply = await send();
  // The minute can end between the two requests, but not twice.
  return reply.status === 429 ? reply : send();
}

/** How an answer with this status is provoked, from a request that would succeed. */
const provocations: Readonly<Record<string, (request: Ask, of: Described) => Promise<Reply[]>>> = {
  success: async (request, { parameters }) => {
    const names = new Set(parameters.map(({ name }) => name));
    if (names.has('Idempotency-Key')) {
      const headers = { ...request.headers, 'Idempotency-Key': randomUUID() };
      return [await client.send({ ...request, headers }), await client.send({ ...request, headers })];
    }
    if (!names.has('limit')) return [await client.send(request)];
    return [await client.send(request), await client.send({ ...request, path: `${request.path}?limit=1` })];
  },
  400: async (request, { parameters }) => {
    if (request.body !== undefined) return [await client.send({ ...request, body: '{}' })];
    const { name, schema } = parameters.find(({ in: place }) => place === 'query')!;
    return [await client.send({ ...request, path: `${request.path}?${name}=${(schema.maximum ?? 0) + 1}` })];
  },
  401: async (request) => [
    await client.send({ ...request, authorization: null }),
    await client.send({ ...request, authorization: 'Bearer unknown' }),
  ],
  404: async (request, { path }) => [await client.send({ ...request, path: withId(path, 0) })],
  413: async (request) => [await client.send({ ...request, body: JSON.stringify('x'.repeat(65_536)) })],
  415: async (request) => [
    await client.send({ ...request, headers: { ...request.headers, 'Content-Type': 'text/plain' } }),
    // API Gateway answers this itself.
    await client.send({ ...request, headers: { ...request.headers, 'Content-Encoding': 'br' } }),
  ],
  422: async (request) => {
    const headers = { ...request.headers, 'Idempotency-Key': randomUUID() };
    await client.send({ ...request, headers });
    return [
      await client.send({ ...request, headers, body: String(request.body).replace('{', '{"more":1,') }),
    ];
  },
  429: async (request) => [await whileLimited(request)],
  500: (request) => whileDynamoDb({ status: 400, type: 'AccessDeniedException' }, request),
  503: (request) => whileDynamoDb({ status: 500, type: 'InternalServerError' }, request),
};

async function provoke(status: number, of: Described): Promise<Reply[]> {
  const request = await validRequest(of);
  const provocation = provocations[status < 400 ? 'success' : status];
  if (provocation === undefined)
    throw new Error(`No request provokes ${of.operationId} ${status}. Add ${status} to "provocations".`);
  return provocation(request, of);
}

describe.runIf(isLocal)('docs/openapi.yaml describes', () => {
  it.each(answers)(
    '$title, which is provoked, with its body and headers',
    async ({ title, of, status, headers }) => {
      const replies = await provoke(status, of);
      for (const reply of replies) {
        expect(reply).toMatchObject({ status });
        const path = reply.request.replace(/^\w+ |\?.*$/g, '');
        expect(validator.violations({ ...reply, method: of.method, path })).toEqual([]);
      }
      const seen = Object.keys(headers).filter((name) => replies.some((reply) => reply.headers.has(name)));
      const rare = Object.keys(headers).filter((name) => `${title} ${name}` in rareHeaders);
      // A header that is listed as rare is described, and is rare.
      expect([...seen, ...rare].toSorted()).toEqual(Object.keys(headers).toSorted());
      for (const name of ['Deprecation', 'Sunset'].filter((each) => seen.includes(each)))
        expect(headers[name]!.schema.examples).toEqual([replies[0]!.headers.get(name)]);
    },
  );
});

describe.runIf(isLocal).each(described)('$operationId', (of) => {
  it('answers nothing that docs/openapi.yaml does not describe', async () => {
    const request = await validRequest(of);
    const wrong: Ask[] = [
      { ...request, path: withId(of.path, 0) },
      { ...request, path: `${request.path}?limit=0&status=lost&cursor=none` },
      ...(of.method === 'GET' ? [] : [{ ...request, body: '{}' }]),
    ];
    for (const each of wrong) {
      const reply = await client.send(each);
      const path = each.path.replace(/\?.*/, '');
      expect(validator.violations({ ...reply, method: of.method, path })).toEqual([]);
    }
  });
});

const writing = described.filter(({ method, path }) =>
  isWriteOperation(operations.find((each) => each.method === method && each.path === path)!),
);

describe.runIf(isLocal).each(writing)('$operationId, which writes,', (of) => {
  it('writes nothing when it is rejected', async () => {
    const callsOf = async (request: Ask) => {
      expect((await whileLimited(request)).status).toBe(429);
      return [...proxy.calls];
    };
    expect(await callsOf(await validRequest(of))).toEqual(await callsOf({ path: '/nowhere' }));
  });

  it('says after a 503 that something may have been written', async () => {
    const [reply] = await provoke(503, of);
    const { message } = z.object({ message: z.string() }).parse(JSON.parse(reply!.text));
    expect(message).not.toBe(errorCatalogue.service_unavailable.message);
  });

  it('recognizes its own earlier attempt when the answer of DynamoDB is lost', async () => {
    const request = await validRequest(of);
    let lost = 0;
    const limits = stack.outputs['RateLimitsTableName'];
    proxy.fate = (_operation, table) => (table !== limits && (lost += 1) === 1 ? 'lose' : 'pass');
    const reply = await client.send(request);
    expect(lost).toBeGreaterThan(1);
    expect(reply.status).toBeLessThan(300);
  });
});
