import * as fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import * as arbitrary from '../support/arbitraries.ts';
import { anError, commonHeaders } from '../support/expected-errors.ts';
import { rounds } from '../support/rounds.ts';
import { ample, base } from './listed-animals.ts';
import { type Key, World } from './world.ts';

// These tests check docs/interface.md#get-an-animal-deprecated.

/** What every answer of a deprecated operation tells (RFC 9745, RFC 8594). */
const deprecation = {
  Deprecation: '@1767225600',
  Sunset: 'Thu, 05 Dec 2030 00:00:00 GMT',
  Link: `<${base}/pets>; rel="successor-version"`,
};
const notFound = anError('pet_not_found', { headers: deprecation });
const rex = { id: 1_000n, name: 'seed', categoryId: 2n ** 63n - 1n, status: 'sold' };

let world: World;
let key: Key;

beforeEach(() => {
  world = new World({ isChecked: false });
  key = world.key(ample);
  world.put('pets', rex);
});

test('an animal comes with every digit, the dates of the removal and a link to a list that has it', async () => {
  const answer = await world.send(key, 'GET /pets/1000');
  expect(answer).toMatchObject({ status: 200, body: rex });
  expect(answer.text).toContain('"categoryId":9223372036854775807,');
  const Link = `<${base}/pets?status=sold>; rel="successor-version"`;
  expect(answer.headers).toMatchObject({ ...commonHeaders, ...deprecation, Link });
  expect((await world.send(key, 'GET /pets?status=sold')).body).toEqual([rex]);
  world.check();
});

test('a name that a creation would refuse today, and who added the animal, change nothing', async () => {
  const name = 'seed R\0x\u001b[2J\u009b2J\n';
  world.put('pets', { ...rex, name, addedBy: 'key_06fz1m4tqabcdefg', importId: 7 });
  const body = { ...rex, name };
  expect(await world.send(key, 'GET /pets/1000')).toMatchObject({ status: 200, body });
  expect((await world.send(key, 'GET /pets?limit=1')).body).toEqual([body]);
  const create = { body: JSON.stringify({ name, categoryId: 7 }) };
  expect(await world.send(key, 'POST /pets', create)).toMatchObject({ status: 400 });
});

test('one consistent read finds it, and one that does not exist', async () => {
  for (const id of [1_000, 10 ** 15]) {
    const { calls } = await world.send(key, `GET /pets/${id}`);
    const reads = calls.filter(({ table }) => table === 'Pets');
    expect(reads).toMatchObject([{ operation: 'GetItem', input: { ConsistentRead: true } }]);
  }
});

test.each([
  '1',
  '-1',
  '9223372036854775807',
  '-9223372036854775808',
  '9223372036854775808',
  '0x1',
  '1.0',
  '1e3',
  '+1',
  '01',
  'abc',
  '%20',
  '%00',
  '%2F..%2F',
  '%C3%A9',
  '%',
  '%zz',
  "'%20OR%201=1",
  '%3Cscript%3E',
  '%3E;%20rel="next"',
  '%0d%0aX-Evil:%201',
  'null',
  '__proto__',
  '9'.repeat(8_000),
  '01000',
  '+1000',
  '1000.0',
  '%201000',
  '1000%20',
  '1000%0a',
])('the ID %s is unknown', async (id) => {
  // It is no error of the service.
  expect(await world.send(key, `GET /pets/${id}`)).toMatchObject({ ...notFound, log: { level: 'INFO' } });
});

test('an ID can be percent-encoded', async () => {
  expect(await world.send(key, 'GET /pets/%31%30%30%30')).toMatchObject({ status: 200, body: rex });
});

test('any other ID is unknown, never an error', async () => {
  const id = fc.oneof(arbitrary.text({ minLength: 1 }), arbitrary.numberLike);
  await fc.assert(
    fc.asyncProperty(id, async (text) => {
      fc.pre(text !== '' && text !== '1000');
      expect(await world.send(key, `GET /pets/${encodeURIComponent(text)}`)).toMatchObject(notFound);
    }),
    { numRuns: rounds({ full: 100, sample: 30 }) },
  );
});

test('a read does not wait until the request is counted', async () => {
  world.meets = ({ table }) => (table === 'RateLimits' ? 'hungBefore' : 'answered');
  const { status, calls } = await world.send(key, 'GET /pets/1000');
  const [counted, read] = ['RateLimits', 'Pets'].map((name) => calls.find(({ table }) => table === name));
  expect([status, read!.sentAt]).toEqual([200, counted!.sentAt]);
});

test.each(['hungBefore', 'lostBefore', 'failed', 'throttled'] as const)(
  'a read that is always %s is a 503 in time',
  async (fate) => {
    world.meets = ({ table }) => (table === 'Pets' ? fate : 'answered');
    const answer = await world.send(key, 'GET /pets/1000');
    expect(answer).toMatchObject(anError('service_unavailable', { headers: deprecation }));
    world.check();
  },
);

test('a read whose first two attempts get no answer is answered by the third', async () => {
  const attempts: string[] = [];
  world.meets = ({ table, operation }) =>
    table === 'Pets' && attempts.push(operation) < 3 ? 'hungBefore' : 'answered';
  expect(await world.send(key, 'GET /pets/1000')).toMatchObject({ status: 200, body: rex });
  expect(attempts).toHaveLength(3);
});

describe('a malformed item', () => {
  test.each([
    ['no name', { name: undefined }],
    ['a categoryId beyond int64', { categoryId: 2n ** 63n }],
  ])('with %s is a 500 that says nothing of it, and the log does', async (_what, damage) => {
    world.put('pets', { ...rex, id: 999n, ...damage });
    const answer = await world.send(key, 'GET /pets/999');
    expect(answer).toMatchObject(anError('internal_error', { headers: deprecation }));
    expect(answer.text).not.toContain('999');
    expect(answer.log).toMatchObject({ level: 'ERROR', errors: [{ name: 'MalformedItemError' }] });
    expect(JSON.stringify(answer.log['errors'])).toContain('The stored pet with ID 999 is malformed');
  });
});
