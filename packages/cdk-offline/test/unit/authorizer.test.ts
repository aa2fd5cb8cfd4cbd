import { beforeEach, describe, expect, it } from 'vitest';
import { Authorizer } from '../../src/gateway/authorizer.ts';
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

function gate(cacheSeconds = 60): Authorizer {
  const definition = {
    logicalId: 'F',
    name: 'f',
    arn: 'arn',
    constructPath: undefined,
    codeId: 'code',
    taskRoot: '/',
    handler: 'a.b',
    runtime: 'nodejs24.x',
    timeoutSeconds: 3,
    memoryMb: 128,
    environment: {},
    logFormat: 'Text',
    logLevel: undefined,
    logGroupName: 'g',
    reservedConcurrency: undefined,
  } as const;
  return new Authorizer(
    { header: 'Authorization', validation: /^(?:Bearer [a-z]+)$/, cacheSeconds, function: definition },
    async (event) => {
      asked.push(JSON.parse(event));
      return failure ?? { ok: true, payload: JSON.stringify(result) };
    },
    () => now,
  );
}

const rejection = async (one: Authorizer, token: string | undefined, arn = arnOf('GET', 'things')) => {
  const authorization = await one.authorize(token, arn);
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
    result = { ...allow('*'), context: { text: 'a', number: 7, truth: false }, usageIdentifierKey: 'key-1' };
    expect(await gate().authorize('Bearer abc', arnOf('GET', 'things'))).toMatchObject({
      granted: true,
      identity: {
        principalId: 'someone',
        usageIdentifierKey: 'key-1',
        authorizer: { principalId: 'someone', text: 'a', number: '7', truth: 'false' },
      },
    });
    expect(asked).toEqual([
      { type: 'TOKEN', methodArn: arnOf('GET', 'things'), authorizationToken: 'Bearer abc' },
    ]);
  });

  it('is not invoked again for the same token until the cached answer expires', async () => {
    const one = gate(60);
    await one.authorize('Bearer abc', arnOf('GET', 'things'));
    now += 59_999;
    expect(await rejection(one, 'Bearer abc')).toBeUndefined();
    expect(asked).toHaveLength(1);
    await one.authorize('Bearer xyz', arnOf('GET', 'things'));
    expect(asked).toHaveLength(2);
    now += 1;
    await one.authorize('Bearer abc', arnOf('GET', 'things'));
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
    expect(await one.authorize('Bearer abc', arnOf('GET', 'things'))).toMatchObject({
      granted: false,
      error: {
        type: 'ACCESS_DENIED',
        message: 'User is not authorized to access this resource with an explicit deny',
      },
      identity: { authorizer: { principalId: 'someone' } },
    });
    await one.authorize('Bearer abc', arnOf('GET', 'things'));
    expect(asked).toHaveLength(1);
  });

  it('is invoked for every request without a cache time, and once more after a flush', async () => {
    const uncached = gate(0);
    await uncached.authorize('Bearer abc', arnOf('GET', 'things'));
    await uncached.authorize('Bearer abc', arnOf('GET', 'things'));
    expect(asked).toHaveLength(2);
    const cached = gate();
    await cached.authorize('Bearer abc', arnOf('GET', 'things'));
    cached.flush();
    await cached.authorize('Bearer abc', arnOf('GET', 'things'));
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
