import * as z from 'zod/mini';
import type { Item, Version } from 'dynamodb-interleavings';
import type { Random } from 'dynamodb-interleavings/simulation';
import { checkCreations, parseExactly, petWritten } from '../idempotency.check.ts';
import type { Sent } from './gateway.ts';
import { itemsWithin, type Resource, versionsOf as versionsIn } from './resource.ts';
import { within, type History, minute, ensure, rounding, type Seen } from './seen.ts';

/** Animals: what clients send, what a request can get, what is created and what is read. */
export const animals: Resource = {
  path: '/pets',
  bodies: { NewPet: newPetBody },
  filters: (random) =>
    filterNames.flatMap((name) => (random.chance(0.5) ? [[name, random.pick(filters[name])] as const] : [])),
  expectedOf,
  isMalformed: ({ path }, history) =>
    versionsOf(history, path).some(({ item }) => petOf(item) === 'malformed'),
  isDeprecated: (sent) => sent.method === 'GET' && sent.path.startsWith('/pets/'),
  check: (all, history) => {
    for (const seen of all)
      within(seen.exchange, () => {
        checkDeprecation(seen);
        ensure(seen.reply?.text.includes('addedBy') !== true, 'a client sees who added an animal');
        checkReading(seen, history);
        checkCreation(seen, history);
      });
    checkCreations(
      all.filter(({ exchange: { sent } }) => isCreation(sent)),
      history.evaluations,
    );
    checkCreators(all, history);
  },
};

export const statuses = ['available', 'pending', 'sold'] as const;

function newPetBody(random: Random, number: number): string {
  // JSON.stringify has no bigint.
  const categoryId = random.pick(['0', '7', '-3', '9223372036854775807']);
  const status = random.chance(0.5) ? `,"status":"${random.pick(statuses)}"` : '';
  return `{"name":"pet ${number}","categoryId":${categoryId}${status}}`;
}

/** The statuses of an answer without a failure. */
function expectedOf(sent: Sent, history: History): number[] {
  const { method, path } = sent;
  if (path !== '/pets' && method === 'GET')
    return versionsOf(history, path).length === 0 ? [404] : [200, 404];
  if (path === '/pets' && method === 'GET') return isValidQuery(new Map(sent.query)) ? [200] : [400];
  if (path === '/pets' && method === 'POST') {
    if (sent.contentType !== undefined) return [415];
    if (Buffer.byteLength(sent.body!) > 65_536) return [413];
    return isValidBody(String(sent.body)) ? [201, 422] : [400];
  }
  return [405];
}

function isValidQuery(query: ReadonlyMap<string, string>): boolean {
  const limit = query.get('limit') ?? '1';
  const cursor = query.get('cursor');
  const sent = filterNames.filter((name) => query.has(name));
  return (
    Number(limit) >= 1 &&
    Number(limit) <= 100 &&
    sent.length <= 1 &&
    sent.every((name) => (filters[name] as readonly string[]).includes(query.get(name)!)) &&
    (cursor === undefined || readCursor(cursor).filter === filterOf(query))
  );
}

/** The filters of a list, each of the field with its name, and every value of it that is sent and valid. A list takes one at most. */
const filters = { status: statuses } as const;
const filterNames = Object.keys(filters) as (keyof typeof filters)[];

/** The filter of a query, such as `status=sold`. Undefined: every animal. */
function filterOf(query: ReadonlyMap<string, string>): string | undefined {
  const name = filterNames.find((each) => query.has(each));
  return name && `${name}=${query.get(name)}`;
}

function fits(filter: string | undefined, pet: Pet): boolean {
  return filter === undefined || filterNames.some((name) => filter === `${name}=${pet[name]}`);
}

interface Pet {
  readonly id: bigint;
  readonly name: string;
  readonly categoryId: bigint;
  readonly status: string;
}

const petShown = z.object({ id: z.bigint(), name: z.string(), categoryId: z.bigint(), status: z.string() });

function petOf(item: Item | undefined): Pet | 'malformed' | undefined {
  if (item === undefined) return undefined;
  const { id, name, categoryId, status } = item;
  if (name?.S === undefined || categoryId?.N === undefined) return 'malformed';
  return { id: BigInt(id!.N!), name: name.S, categoryId: BigInt(categoryId.N), status: status!.S! };
}

/** @param path of the animal */
function versionsOf({ tables }: History, path: string): readonly Version[] {
  return versionsIn(tables, 'Pets', path.slice('/pets/'.length));
}

/** What an animal was while a request was under way, or a lag before. Milliseconds. */
function statesWithin(versions: readonly Version[], { operation, from, to }: Seen, lag = 0) {
  // Time may stand still, and writes have an order.
  const isBefore = ({ since, number }: Version) =>
    lag === 0 ? number <= operation!.writesBefore : since <= from - lag;
  return itemsWithin(versions, isBefore, to).map((item) => petOf(item));
}

function isSame(a: Pet, b: Pet | 'malformed' | undefined): boolean {
  return (
    b !== undefined &&
    b !== 'malformed' &&
    a.id === b.id &&
    a.name === b.name &&
    a.categoryId === b.categoryId &&
    a.status === b.status
  );
}

/** docs/interface.md#get-an-animal-deprecated, docs/api.md#move-off-get-petspetid */
function checkDeprecation({ exchange: { sent }, key, reply }: Seen): void {
  if (reply === undefined || key === undefined || !animals.isDeprecated(sent)) return;
  const { status, headers, body } = reply;
  ensure(headers['Deprecation'] === `@${Date.UTC(2026, 0, 1) / 1000}`, 'another date of deprecation');
  ensure(headers['Sunset'] === 'Thu, 05 Dec 2030 00:00:00 GMT', 'another date of removal');
  const filter = status === 200 ? `?status=${(body as { readonly status: string }).status}` : '';
  const successor = `<https://api.example.com/v1/pets${filter}>; rel="successor-version"`;
  ensure(headers['Link'] === successor, 'another successor');
}

const defaultLimit = 20;

interface Cursor {
  readonly filter: string | undefined;
  readonly position: bigint;
}

/** functions/pets/cursor.ts. */
function readCursor(cursor: string): Cursor {
  const bytes = Buffer.from(cursor, 'base64url');
  const status = statuses[bytes[1]! - 1];
  const text = bytes.toString('utf8', 10, bytes.length - 4);
  return { filter: text || (status && `status=${status}`), position: bytes.readBigInt64BE(2) };
}

function checkReading(seen: Seen, history: History): void {
  const { exchange, reply } = seen;
  const { sent } = exchange;
  if (reply === undefined || sent.method !== 'GET') return;
  if (sent.path !== '/pets' && (reply.status === 200 || reply.status === 404)) {
    const states = statesWithin(versionsOf(history, sent.path), seen);
    if (reply.status === 404) ensure(states.includes(undefined), 'an animal that exists is not found');
    else
      ensure(
        states.some((state) => isSame(z.parse(petShown, reply.body), state)),
        'an animal that is not stored',
      );
  }
  if (sent.path === '/pets' && reply.status === 200) checkPage(seen, history);
}

function checkPage(seen: Seen, history: History): void {
  const { exchange, reply, from, to, otherCalls } = seen;
  const { sent } = exchange;
  const { tables, lag, shortQueries } = history;
  const query = new Map(sent.query);
  const limit = Number(query.get('limit') ?? defaultLimit);
  const filter = filterOf(query);
  const before = query.has('cursor') ? readCursor(query.get('cursor')!).position : undefined;
  const partitions = otherCalls.slice(0, filter === undefined ? statuses.length : 1);
  ensure(
    partitions.every(({ sentAt }) => sentAt === from),
    'partitions are not read at the same time',
  );
  const page = z.parse(z.array(petShown), reply!.body);
  const link = reply!.headers['Link'];
  const next = link === undefined ? undefined : new URL(/^<([^>]+)>; rel="next"$/.exec(link)![1]!);
  const cursor = next && readCursor(next.searchParams.get('cursor')!);
  const end = cursor?.position;
  if (next !== undefined) {
    ensure(next.href.startsWith('https://api.example.com/v1/pets?'), 'the next page is elsewhere');
    ensure(next.searchParams.get('limit') === String(limit), 'the next page has another limit');
    ensure(
      filterOf(new Map(next.searchParams)) === filter && cursor!.filter === filter,
      'the next page has another filter',
    );
    ensure(before === undefined || end! < before, 'the next page is the same');
  }
  ensure(page.length <= limit, 'more animals than the limit');
  for (const [index, pet] of page.entries()) {
    ensure(index === 0 || pet.id < page[index - 1]!.id, 'not newest first, or twice');
    ensure(fits(filter, pet), 'an animal that the filter leaves out');
    ensure(before === undefined || pet.id < before, 'an animal of an earlier page');
    ensure(end === undefined || pet.id >= end, 'an animal of the next page');
    const states = statesWithin(versionsIn(tables, 'Pets', String(pet.id)), seen, lag);
    ensure(
      states.some((state) => isSame(pet, state)),
      `animal ${pet.id} is not stored like this`,
    );
  }
  let certain = 0;
  for (const versions of tables.versions('Pets')) {
    const states = statesWithin(versions, seen, lag);
    if (!states.every((state) => state !== undefined && state !== 'malformed' && fits(filter, state)))
      continue;
    const { id } = states[0] as Pet;
    if (before !== undefined && id >= before) continue;
    // An animal whose status changes can be between two partitions.
    if (filter === undefined && new Set(states.map((state) => (state as Pet).status)).size > 1) continue;
    certain += 1;
    if (end !== undefined && id < end) continue;
    ensure(
      page.some((pet) => pet.id === id),
      `animal ${id} is missing`,
    );
  }
  // A page after another is empty only if something has changed in between.
  const hasChanged = tables
    .versions('Pets')
    .some((versions) => versions.some(({ since }) => since > from - lag - minute && since <= to));
  ensure(page.length > 0 || (certain === 0 && (before === undefined || hasChanged)), 'an empty page');
  if (!shortQueries) ensure(page.length >= Math.min(limit, certain), 'fewer animals than the limit');
}

const newPet = z.object({
  name: z.string().check(z.minLength(1)),
  categoryId: z.bigint(),
  status: z._default(z.enum(['available', 'pending', 'sold']), 'available'),
});

function isValidBody(body: string): boolean {
  return newPet.safeParse(parseExactly(body)).success;
}

function isCreation({ method, path }: Sent): boolean {
  return method === 'POST' && path === '/pets';
}

/** Which animal it is, idempotency.check.ts says. */
function checkCreation(
  { exchange: { sent }, reply, operation, from, to, otherCalls }: Seen,
  { tables }: History,
): void {
  if (reply === undefined || !isCreation(sent)) return;
  if (reply.status !== 201) {
    // Nothing but a 503 leaves open whether the animal exists.
    ensure(
      reply.status === 503 || !otherCalls.some(({ applied }) => applied),
      `${reply.status}, but the animal exists`,
    );
    return;
  }
  const pet = z.parse(petShown, reply.body);
  const wanted = newPet.parse(parseExactly(String(sent.body)));
  ensure(isSame({ ...wanted, id: pet.id }, pet), 'another animal');
  const first = versionsIn(tables, 'Pets', String(pet.id)).find(({ item }) => item);
  ensure(isSame(pet, petOf(first?.item)), 'the animal is stored otherwise');
  ensure(reply.headers['Location'] === `https://api.example.com/v1/pets/${pet.id}`, 'another Location');
  ensure(pet.id > 0n && pet.id < 2n ** 53n, 'an ID that is not exact');
  if (reply.headers['Idempotency-Replayed'] !== undefined) return;
  // An earlier version stores no key ID.
  const isEarlier = / of /.test(operation!.environment.name);
  const { addedBy } = first!.item!;
  ensure(isEarlier || addedBy?.S?.startsWith('key_') === true, 'nobody knows which key added the animal');
  const madeAt = Date.UTC(2026, 0, 1) + Number(pet.id >> 12n);
  ensure(madeAt >= from - rounding && madeAt <= to + rounding, `an ID of ${new Date(madeAt).toISOString()}`);
}

/** Every animal is one of former times, or one that a request has created. */
function checkCreators(all: readonly Seen[], { tables, evaluations }: History): void {
  const writes = all.flatMap(({ otherCalls }) =>
    otherCalls.filter(({ input }) => evaluations.get(input)?.isWritten),
  );
  const created = new Set(writes.map((call) => petWritten(call)?.['id']?.N));
  for (const versions of tables.versions('Pets')) {
    const pet = petOf(versions.find(({ item }) => item)?.item);
    if (pet === undefined || pet === 'malformed' || pet.name.startsWith('seed')) continue;
    ensure(created.has(String(pet.id)), `nobody created animal ${pet.id}`);
  }
}
