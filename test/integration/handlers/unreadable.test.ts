import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { anError } from '../../support/answers.ts';
import { DynamoDbProxy, type Fate } from '../../support/dynamodb-proxy.ts';
import { captureLog, newCaller, Service } from '../../support/service.ts';

// What is between the functions and DynamoDB can answer with anything, and DynamoDB with errors that nobody knows yet.

const rex = { name: 'Rex', categoryId: 7 };
const unavailable = anError('service_unavailable', { headers: { 'Retry-After': '1' } });
const mayExist = anError('service_unavailable', {
  message: expect.stringMatching(/may have been created.*same Idempotency-Key/) as unknown as string,
  headers: { 'Retry-After': '1' },
});
const internal = anError('internal_error');

let proxy: DynamoDbProxy;
let service: Service;

beforeAll(async () => {
  captureLog();
  proxy = await DynamoDbProxy.start();
  service = await Service.start({ endpoint: proxy.endpoint });
});

afterEach(() => {
  proxy.reset();
});

afterAll(() => {
  proxy.stop();
});

/** Everything but counting is answered like this. */
async function answersTo(fate: Fate) {
  proxy.fate = (operation) => (operation === 'UpdateItem' ? 'pass' : fate);
  return {
    list: await service.get('/pets?status=sold'),
    get: await service.get('/pets/1'),
    create: await service.post(rex),
    createOnce: await service.post(rex, newCaller('free'), 'key'),
  };
}

describe('is answered 503, and a creation says that the animal may exist:', () => {
  test.each<[string, Fate]>([
    ['garbage', { status: 200, body: '\u0000{]' }],
    ['HTML', { status: 200, body: '<html></html>' }],
    ['half a document', { status: 200, body: '{"Item":' }],
    ['an empty body', { status: 200, body: '' }],
    ['null', { status: 200, body: 'null' }],
    ['an array', { status: 200, body: ' []' }],
    ['a string', { status: 200, body: '"{}"' }],
    ['a number', { status: 200, body: '1' }],
    ['204', { status: 204, body: '' }],
    ['a redirection with a type', { status: 301, body: '{"__type":"ResourceNotFoundException"}' }],
    ['a redirection', { status: 301, body: '', headers: { Location: 'https://example.com/' } }],
    ['HTML with 400', { status: 400, body: '<html></html>' }],
    ['an empty body with 400', { status: 400, body: '' }],
    ['an error without a type', { status: 400, body: '{"message":"No."}' }],
    ['HTML with 502', { status: 502, body: '<html></html>' }],
  ])('%s', async (_, fate) => {
    const { list, get, create, createOnce } = await answersTo(fate);
    expect([list, get]).toEqual([unavailable, unavailable]);
    expect([create, createOnce]).toEqual([mayExist, mayExist]);
  });
});

test('an error that nobody knows is a bug for a read, and says nothing about a write', async () => {
  const { list, get, create, createOnce } = await answersTo({ status: 400, type: 'SomethingNew' });
  expect([list, get]).toEqual([internal, internal]);
  expect([create, createOnce]).toEqual([mayExist, mayExist]);
});

test.each(['AccessDeniedException', 'ValidationException', 'ResourceNotFoundException'])(
  'after %s nothing was written',
  async (type) => {
    const { list, get, create, createOnce } = await answersTo({ status: 400, type });
    expect([list, get, create, createOnce]).toEqual([internal, internal, internal, internal]);
  },
);

test('a refusal of the second attempt says nothing about the first', async () => {
  proxy.fate = (operation) => {
    if (operation === 'UpdateItem') return 'pass';
    const first = proxy.calls.filter((each) => each === operation).length === 1;
    return first ? 'lose' : { status: 400, type: 'AccessDeniedException' };
  };
  expect(await service.post(rex)).toEqual(mayExist);
  expect(await service.post(rex, newCaller('free'), 'key')).toEqual(mayExist);
});

test('a count that cannot be read admits the request', async () => {
  for (const body of ['', 'null', '[]', '\u0000{]', '{}', '{"Attributes":null}']) {
    proxy.fate = (operation) => (operation === 'UpdateItem' ? { status: 200, body } : 'pass');
    expect(await service.get('/pets', newCaller('free'))).toMatchObject({
      status: 200,
      headers: { 'X-RateLimit-Remaining': '60' },
    });
  }
});
