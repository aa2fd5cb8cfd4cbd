import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import * as z from 'zod';
import { newKey } from '../../functions/access/keys.ts';
import { type FunctionEntry, functionEntries, operations } from '../../functions/operations.ts';
import { int64, numberLike, petName, petStatus, text } from '../support/arbitraries.ts';
import { FunctionProcesses } from '../support/function-processes.ts';
import { type HttpRequest, newCaller, proxyEvent } from '../support/events.ts';
import { reply } from '../support/lambda.ts';
import { report } from './report.ts';

const eventsOfAll = Number(process.env['EVENTS'] ?? 100_000);
const seed = Number(process.env['SEED'] ?? Date.now() % 2 ** 31);
/** One of so many events is not from API Gateway. */
const foreignOneIn = 10;

let functions: FunctionProcesses;

beforeAll(async () => {
  functions = await FunctionProcesses.start({ endpoint: inject('dynamodbEndpoint') });
});

afterAll(() => functions.stop());

const caller = newCaller('enterprise');
const keys = Array.from({ length: 100 }, (_, index) => newKey(index % 2 === 0 ? 'test' : 'other'));

const body = fc.oneof(
  fc.constant(null),
  text({ maxLength: 300 }),
  fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  fc.json(),
  fc
    .record(
      { name: fc.oneof(petName, fc.jsonValue()), categoryId: fc.oneof(int64, numberLike), status: petStatus },
      { requiredKeys: [] },
    )
    .map(({ categoryId, ...rest }) =>
      JSON.stringify(rest).replace(/\}$/, `${'name' in rest ? ',' : ''}"categoryId":${categoryId}}`),
    ),
);
const mediaType = fc.constantFrom(
  'application/json',
  'application/json',
  'application/json',
  'Application/JSON',
  'application/json; charset=utf-8',
  'text/plain',
  'application/json; charset=latin1',
  '',
);
const headers = fc
  .tuple(
    mediaType,
    fc.option(text({ maxLength: 300 }), { nil: undefined }),
    fc.array(fc.tuple(fc.constantFrom('Accept', 'X-Forwarded-Proto', 'X-Amzn-Trace-Id', 'Accept'), text())),
  )
  .map(([type, idempotencyKey, others]): [string, string][] => [
    ['Content-Type', type],
    ...(idempotencyKey === undefined ? [] : [['Idempotency-Key', idempotencyKey] as [string, string]]),
    ...others,
  ]);
const query = fc.array(
  fc.tuple(
    fc.oneof(fc.constantFrom('limit', 'status', 'cursor'), text()),
    fc.oneof(numberLike, petStatus, fc.base64String(), text()),
  ),
  { maxLength: 6 },
);

/** What API Gateway sends for any request of a client that reaches this function. */
function gatewayEvent(entry: FunctionEntry): fc.Arbitrary<unknown> {
  if (entry === 'authorizer') {
    return fc.record({
      type: fc.constant('TOKEN'),
      authorizationToken: fc
        .oneof(text({ minLength: 1 }), fc.constantFrom(...keys))
        .map((key) => `Bearer ${key}`),
      methodArn: fc.constant('arn:aws:execute-api:eu-central-1:123456789012:abcdef1234/v1/GET/pets'),
    });
  }
  // Paths arrive percent-encoded.
  const parameter = fc.oneof(numberLike, int64.map(String), text({ minLength: 1 })).map(encodeURIComponent);
  const method = fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS', 'TRACE');
  return fc.tuple(parameter, method, query, headers, body).map(([value, other, ...rest]) => {
    const [queryOf, headersOf, bodyOf] = rest;
    const common = { query: queryOf, headers: headersOf, body: bodyOf, caller };
    return proxyEvent({ ...routeOf(entry, value, other), ...common });
  });
}

function routeOf(
  entry: FunctionEntry,
  value: string,
  method: string,
): Pick<HttpRequest, 'method' | 'resource' | 'path' | 'pathParameters'> {
  const operation = operations.find((each) => each.entry === entry);
  if (operation === undefined)
    return { method, resource: '/{proxy+}', path: `/${value}`, pathParameters: { proxy: value } };
  const { method: own, path: resource } = operation;
  if (!resource.includes('{petId}')) return { method: own, resource };
  return {
    method: own,
    resource,
    path: resource.replace('{petId}', value),
    pathParameters: { petId: value },
  };
}

test.concurrent.each(functionEntries)(
  '%s answers its share of 100,000 fuzzed events without a 5xx',
  async (entry) => {
    const count = eventsOfAll / functionEntries.length;
    const statuses: Record<string, number> = {};
    const failures: string[] = [];
    for (let start = 0; start < count; start += 1_000) {
      const events = fc.sample(gatewayEvent(entry), { numRuns: 1_000, seed: seed + start });
      // Whatever anything else sends must not end the process.
      const foreign = fc.sample(fc.object(), { numRuns: 1_000 / foreignOneIn, seed: seed + start });
      for (const [index, event] of events.entries()) {
        const isForeign = index % foreignOneIn === 0;
        const found = await functions.invoke(entry, isForeign ? foreign[index / foreignOneIn] : event);
        const status = 'thrown' in found ? found.thrown : statusOf(entry, found.returned);
        const name = isForeign ? 'not from API Gateway' : status;
        statuses[name] = (statuses[name] ?? 0) + 1;
        if (!isForeign && !/^(?:[234]\d\d|Allow|Deny|Error: Unauthorized)$/.test(status)) {
          failures.push(`${status}: ${JSON.stringify(event)}`);
        }
      }
    }
    report('fuzz', { entry, seed, statuses });
    expect(failures).toEqual([]);
    for (const { exitCode } of functions.processes) expect(exitCode).toBeNull();
  },
);

const policy = z.object({
  policyDocument: z.object({ Statement: z.tuple([z.object({ Effect: z.enum(['Allow', 'Deny']) })]) }),
});

function statusOf(entry: FunctionEntry, returned: unknown): string {
  if (entry !== 'authorizer') {
    const result = z.object({ statusCode: z.number() }).safeParse(returned);
    return result.success ? String(reply(returned).status) : 'malformed';
  }
  return policy.parse(returned).policyDocument.Statement[0].Effect;
}
