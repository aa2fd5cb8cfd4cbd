import { beforeEach, describe, expect, it } from 'vitest';
import { Authorizer } from '../../src/gateway/authorizer.ts';
import type { LambdaAuthorizer } from '../../src/gateway/read-authorizers.ts';
import type { FunctionDefinition } from '../../src/lambda/function-definition.ts';
import type { InvocationResult } from '../../src/lambda/environment.ts';

const arnOf = (method: string, path: string) =>
  `arn:aws:execute-api:us-east-1:123456789012:api/v1/${method}/${path}`;
const allow = (...Resource: readonly string[]) => ({
  principalId: 'someone',
  policyDocument: {
    Version: '2012-10-17',
    Statement: [{ Action: 'execute-api:Invoke', Effect: 'Allow', Resource }],
  },
});
const failed = (errorMessage: string): InvocationResult => ({
  ok: false,
  failure: { errorType: 'Error', errorMessage, trace: [] },
});

let now = 0;
let asked: unknown[] = [];
let result: unknown;
let failure: InvocationResult | undefined;

beforeEach(() => {
  now = 1_000_000;
  asked = [];
  result = allow('*');
  failure = undefined;
});

const tokenAuthorizer = {
  type: 'TOKEN',
  identitySources: ['method.request.header.Authorization'],
  validation: /^(?:Bearer [a-z]+)$/,
} as const;
const requestAuthorizer = {
  type: 'REQUEST',
  identitySources: ['method.request.header.X-Tenant', 'method.request.querystring.user'],
  validation: undefined,
} as const;

function gate(
  cacheSeconds = 60,
  kind: Omit<LambdaAuthorizer, 'cacheSeconds' | 'function'> = tokenAuthorizer,
): Authorizer {
  return new Authorizer(
    { ...kind, cacheSeconds, function: {} as FunctionDefinition },
    async ({ event }) => {
      asked.push(JSON.parse(event));
      return failure ?? { ok: true, payload: JSON.stringify(result) };
    },
    () => now,
  );
}

const authorize = (one: Authorizer, token: string | undefined, methodArn = arnOf('GET', 'things')) =>
  one.authorize({ methodArn, traceId: 'trace', valueOf: () => token, parameters: () => ({}) });

const rejection = async (one: Authorizer, token: string | undefined, arn?: string) => {
  const authorization = await authorize(one, token, arn);
  return authorization.granted ? undefined : authorization.error.type;
};

describe('a TOKEN authorizer', () => {
  it.each([undefined, '', 'Bearer', 'Bearer ABC', 'xBearer abc', 'Bearer abc '])(
    'rejects the token %j without invoking the function',
    async (token) => {
      expect(await rejection(gate(), token)).toBe('UNAUTHORIZED');
      expect(asked).toEqual([]);
    },
  );

  it('passes the token and the method ARN, and returns the context as strings', async () => {
    const context = { text: 'a', number: 7, truth: false, nothing: null };
    result = { ...allow('*'), context, usageIdentifierKey: 'key-1' };
    expect(await authorize(gate(), 'Bearer abc')).toMatchObject({
      granted: true,
      identity: {
        usageIdentifierKey: 'key-1',
        // Recorded on AWS: https://github.com/DefinitelyTyped/DefinitelyTyped/pull/69823
        authorizer: { principalId: 'someone', text: 'a', number: '7', truth: 'false', nothing: null },
      },
    });
    expect(asked).toEqual([
      { type: 'TOKEN', methodArn: arnOf('GET', 'things'), authorizationToken: 'Bearer abc' },
    ]);
  });

  it('is not invoked again for the same token until the cached answer expires', async () => {
    const one = gate(60);
    await authorize(one, 'Bearer abc');
    now += 59_999;
    expect(await rejection(one, 'Bearer abc')).toBeUndefined();
    expect(asked).toHaveLength(1);
    await authorize(one, 'Bearer xyz');
    expect(asked).toHaveLength(2);
    now += 1;
    await authorize(one, 'Bearer abc');
    expect(asked).toHaveLength(3);
  });

  it('evaluates a cached policy against the current route, not the route it was cached for', async () => {
    result = allow(arnOf('GET', 'things'));
    const one = gate();
    expect(await rejection(one, 'Bearer abc', arnOf('GET', 'things'))).toBeUndefined();
    expect(await rejection(one, 'Bearer abc', arnOf('POST', 'things'))).toBe('ACCESS_DENIED');
    expect(await rejection(one, 'Bearer abc', arnOf('GET', 'things'))).toBeUndefined();
    expect(asked).toHaveLength(1);
  });

  it('caches a denial too, and reports the principal', async () => {
    result = { ...allow('*'), policyDocument: { Statement: { Effect: 'Deny', Action: '*', Resource: '*' } } };
    const one = gate();
    expect(await authorize(one, 'Bearer abc')).toMatchObject({
      granted: false,
      error: {
        type: 'ACCESS_DENIED',
        message: 'User is not authorized to access this resource with an explicit deny',
      },
      identity: { authorizer: { principalId: 'someone' } },
    });
    await authorize(one, 'Bearer abc');
    expect(asked).toHaveLength(1);
  });

  it('is invoked for every request without a cache time, and once more after a flush', async () => {
    const uncached = gate(0);
    await authorize(uncached, 'Bearer abc');
    await authorize(uncached, 'Bearer abc');
    expect(asked).toHaveLength(2);
    const cached = gate();
    await authorize(cached, 'Bearer abc');
    cached.flush();
    await authorize(cached, 'Bearer abc');
    expect(asked).toHaveLength(4);
  });

  it.each([
    ['Unauthorized', 'UNAUTHORIZED'],
    ['unauthorized', 'AUTHORIZER_CONFIGURATION_ERROR'],
    ['boom', 'AUTHORIZER_CONFIGURATION_ERROR'],
    ['Task timed out after 3.00 seconds', 'AUTHORIZER_CONFIGURATION_ERROR'],
    ['Rate Exceeded.', 'AUTHORIZER_CONFIGURATION_ERROR'],
  ])('when it throws %s: %s, and nothing is cached', async (message, type) => {
    failure = failed(message);
    const one = gate();
    expect(await rejection(one, 'Bearer abc')).toBe(type);
    failure = undefined;
    expect(await rejection(one, 'Bearer abc')).toBeUndefined();
  });

  it.each([
    null,
    'text',
    {},
    { principalId: 'someone' },
    { ...allow('*'), principalId: '' },
    { ...allow('*'), principalId: undefined },
    { ...allow('*'), context: { list: [1] } },
    { ...allow('*'), context: { object: {} } },
    { ...allow('*'), policyDocument: { Statement: [{ Effect: 'Allow' }] } },
  ])('when it returns %j: AUTHORIZER_CONFIGURATION_ERROR', async (answer) => {
    result = answer;
    expect(await rejection(gate(), 'Bearer abc')).toBe('AUTHORIZER_CONFIGURATION_ERROR');
  });
});

describe('a REQUEST authorizer', () => {
  const sent = (values: Readonly<Record<string, string>>) => ({
    methodArn: arnOf('GET', 'things'),
    traceId: 'trace',
    valueOf: (source: string) => values[source.split('.').at(-1) ?? ''],
    parameters: () => ({ path: '/things' }),
  });

  // https://docs.aws.amazon.com/apigateway/latest/api/API_Authorizer.html#apigw-Type-Authorizer-identitySource
  it.each([{}, { 'X-Tenant': 'a' }, { 'X-Tenant': 'a', user: '' }])(
    'is not invoked without a value for each identity source: %j',
    async (values) => {
      const one = gate(60, requestAuthorizer);
      expect(await one.authorize(sent(values))).toMatchObject({ error: { type: 'UNAUTHORIZED' } });
      expect(asked).toEqual([]);
    },
  );

  it('gets the parameters of the request, and is cached by the values of all identity sources', async () => {
    const one = gate(60, requestAuthorizer);
    for (const user of ['b', 'b', 'c']) await one.authorize(sent({ 'X-Tenant': 'a', user }));
    expect(asked).toEqual(
      Array.from({ length: 2 }, () => ({
        type: 'REQUEST',
        methodArn: arnOf('GET', 'things'),
        path: '/things',
      })),
    );
  });

  it('needs no identity source without a cache', async () => {
    const one = gate(0, { ...requestAuthorizer, identitySources: [] });
    expect(await one.authorize(sent({}))).toMatchObject({ granted: true });
    expect(asked).toHaveLength(1);
  });
});
