import { expect, test } from 'vitest';
import { ApiKeyStore, usagePlansOf } from '../../tools/contributors/local/api-keys.ts';
import { answerApiGateway } from '../../tools/contributors/local/aws-services.ts';
import { stackOf } from './recorded-on-aws/stack.ts';

/*
 * What others have recorded of the management of keys on AWS, as far as the key tool meets it. See recorded-on-aws.test.ts.
 */

/** What a value has of the members of another. Null: nothing. */
function picked(like: unknown, from: unknown): unknown {
  if (like === null || typeof like !== 'object' || 'asymmetricMatch' in like) return from ?? null;
  if (Array.isArray(like)) return (from as unknown[]).map((each, index) => picked(like[index], each));
  return Object.fromEntries(
    Object.entries(like).map(([name, each]) => [
      name,
      picked(each, (from as Record<string, unknown> | undefined)?.[name]),
    ]),
  );
}

/** A call of API Gateway's management, and what is recorded of its answer. `FIRST` is the ID of the key, `PLAN` of the plan. */
type Call = readonly [request: string, input: object | undefined, status: number, answer?: object];

interface KeyFact {
  readonly in: string;
  readonly words: string;
  readonly calls: readonly Call[];
  /** The last call, where ours differs. */
  readonly ours?: readonly [status: number, answer?: object];
}

const badRequest = (message: string) => ({ __type: 'BadRequestException', message });
const createKey = (input: object): Call => ['POST /apikeys', input, 201];

const keyFacts: readonly KeyFact[] = [
  {
    in: 'test_create_api_key_with_invalid_name, 2025-09-26',
    words: 'a name has 1,024 characters at most',
    calls: [
      [
        'POST /apikeys',
        { name: 'a'.repeat(1_025) },
        400,
        badRequest('Invalid API Key name, can be at most 1024 characters.'),
      ],
    ],
  },
  {
    in: 'test_create_api_key_with_invalid_name, 2025-09-26',
    words: 'a key can have no name, and is not enabled unless that is asked for',
    calls: [
      [
        'POST /apikeys',
        {},
        201,
        { enabled: false, stageKeys: [], value: expect.any(String) as string, name: null },
      ],
      ['POST /apikeys', { name: '' }, 201, { enabled: false, stageKeys: [], name: null }],
    ],
  },
  {
    in: 'test_create_api_key_with_invalid_value, 2025-09-26',
    words: 'a value has 20 to 128 characters',
    calls: [
      [
        'POST /apikeys',
        { value: 'short' },
        400,
        badRequest('API Key value should be at least 20 characters'),
      ],
      [
        'POST /apikeys',
        { value: 'a'.repeat(129) },
        400,
        badRequest('API Key value exceeds maximum size of 128 characters'),
      ],
    ],
  },
  {
    in: 'test_create_api_key_with_invalid_value, 2025-09-26',
    words: 'an empty value is generated',
    calls: [['POST /apikeys', { value: '' }, 201, { value: expect.stringMatching(/.{20}/) as string }]],
  },
  {
    in: 'test_get_api_keys, 2024-10-10',
    words: 'a list has no values, and names are found by how they begin',
    calls: [
      createKey({ name: 'test-key-1' }),
      [
        'GET /apikeys',
        undefined,
        200,
        { item: [{ id: 'FIRST', name: 'test-key-1', enabled: false, stageKeys: [], value: null }] },
      ],
      ['GET /apikeys?name=test-key', undefined, 200, { item: [{ id: 'FIRST' }] }],
      ...['TEST-KEY', 'st-key-1', 'st-key', 'other'].map((name): Call => [
        `GET /apikeys?name=${name}`,
        undefined,
        200,
        { item: [] },
      ]),
    ],
  },
  {
    in: 'test_get_api_keys, 2024-10-10',
    words: 'a page has a position if there is more',
    calls: [
      createKey({ name: 'test-key-1' }),
      createKey({ name: 'test-key-2' }),
      ['GET /apikeys?limit=1', undefined, 200, { item: [{}], position: expect.any(String) as string }],
      ['GET /apikeys?limit=2', undefined, 200, { item: [{}, {}], position: null }],
    ],
  },
  {
    in: 'test_negative_get_usage_plan_api_keys, 2025-09-26',
    words: 'a limit below 0',
    calls: [['GET /apikeys?limit=-1', undefined, 200, { item: [] }]],
    // The key tool sends none. A caller that sends one has a fault, which is told.
    ours: [400, { __type: 'BadRequestException' }],
  },
  {
    in: 'test_get_usage_plan_api_keys, 2025-09-26',
    words: 'a key in a plan, and the keys of the plan with their values',
    calls: [
      createKey({ name: 'test-key-1', value: 'a'.repeat(20) }),
      ['GET /usageplans/PLAN/keys', undefined, 200, { item: [] }],
      [
        'POST /usageplans/PLAN/keys',
        { keyId: 'FIRST', keyType: 'API_KEY' },
        201,
        { id: 'FIRST', name: 'test-key-1', type: 'API_KEY', value: 'a'.repeat(20) },
      ],
      [
        'GET /usageplans/PLAN/keys?name=test-key',
        undefined,
        200,
        { item: [{ id: 'FIRST', name: 'test-key-1', type: 'API_KEY', value: 'a'.repeat(20) }] },
      ],
      ...['TEST-key', 'nothing'].map((name): Call => [
        `GET /usageplans/PLAN/keys?name=${name}`,
        undefined,
        200,
        { item: [] },
      ]),
    ],
  },
  {
    in: 'test_get_usage_plan_api_keys, 2025-09-26',
    words: 'a key that is deleted is in no plan',
    calls: [
      createKey({ name: 'test-key-1' }),
      ['POST /usageplans/PLAN/keys', { keyId: 'FIRST', keyType: 'API_KEY' }, 201],
      ['DELETE /apikeys/FIRST', undefined, 202],
      ['GET /usageplans/PLAN/keys', undefined, 200, { item: [] }],
    ],
  },
  {
    in: 'test_get_usage_plan_api_keys, 2025-09-26',
    words: 'a plan that does not exist has no keys',
    calls: [['GET /usageplans/bad-id/keys', undefined, 200, { item: [] }]],
  },
];

test.each(keyFacts)('localstack, test_apigateway_extended, $in: $words', async ({ calls, ours }) => {
  const stack = stackOf({});
  const keys = new ApiKeyStore();
  keys.plans = usagePlansOf(stack);
  const state = {
    keys,
    gateway: {
      place: { apiId: stack.only('AWS::ApiGateway::RestApi').id, stage: 'v1' },
      flushAuthorizerCache: () => {},
    },
    saveKeys: async () => {},
  };
  const ids = new Map([['PLAN', stack.only('AWS::ApiGateway::UsagePlan').id]]);
  for (const [index, [request, input, ...recorded]] of calls.entries()) {
    const text = [...ids].reduce(
      (all, [name, id]) => all.replaceAll(name, id),
      JSON.stringify({ request, input }),
    );
    const renamed = JSON.parse(text) as { request: string; input?: object };
    const [method = '', url = ''] = renamed.request.split(' ');
    const [path = '', query] = url.split('?');
    const response = await answerApiGateway(state, {
      method,
      path,
      query: new URLSearchParams(query),
      headers: {},
      body: Buffer.from(renamed.input === undefined ? '' : JSON.stringify(renamed.input)),
    });
    const parsed = JSON.parse(response.body.toString() || 'null') as { id?: string } | null;
    if (request === 'POST /apikeys' && parsed?.id !== undefined) ids.set('FIRST', parsed.id);
    const answer = [...ids].reduce((all, [name, id]) => all.replaceAll(id, name), JSON.stringify(parsed));
    const [status, body] = (index === calls.length - 1 && ours) || recorded;
    expect([request, response.status]).toEqual([request, status]);
    if (body) expect(picked(body, JSON.parse(answer))).toEqual(body);
  }
});
