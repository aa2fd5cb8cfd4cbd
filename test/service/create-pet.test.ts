import * as fc from 'fast-check';
import { cancelled } from 'dynamodb-interleavings/simulation';
import { describe, expect, test } from 'vitest';
import * as z from 'zod/mini';
import { parseJson } from '../../functions/http/exact-json.ts';
import { newPet } from '../../functions/pets/schema.ts';
import * as arbitrary from '../support/arbitraries.ts';
import { anError, commonHeaders } from '../support/expected-errors.ts';
import { openApiDocument, withoutReferences } from '../support/openapi-document.ts';
import { isFullRun, rounds } from '../support/rounds.ts';
import { ample, base, everyPage, pet } from './listed-animals.ts';
import { type Answers, Creations } from './idempotency.model.ts';
import { explore } from './explore.ts';
import { type Key, World } from './world.ts';

// These tests check docs/interface.md#add-an-animal. What an Idempotency-Key promises is in idempotency.model.ts.

const rex = { name: 'Rex', categoryId: 7, status: 'sold' };
const create = (world: World, key: Key, animal: object | string, idempotencyKey?: string) =>
  world.send(key, 'POST /pets', {
    body: typeof animal === 'string' ? animal : JSON.stringify(animal),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
  });

describe('an animal', () => {
  test('is stored, and answered with its ID and Location', async () => {
    const world = new World();
    const key = world.key('free');
    const answer = await create(world, key, rex);
    const { id, ...rest } = z.parse(pet, answer.body);
    expect([answer.status, rest]).toEqual([201, { name: 'Rex', categoryId: 7n, status: 'sold' }]);
    expect(answer.headers).toMatchObject({ ...commonHeaders, Location: `${base}/pets/${id}` });
    expect(answer.log).toMatchObject({
      operation: 'createPet',
      level: 'INFO',
      RequestsAdmitted: 1,
      PetsCreated: 1,
    });
    expect((await world.send(key, `GET /pets/${id}`)).text).toBe(answer.text);
    expect((await everyPage(world, key, '/pets')).flat()).toEqual([answer.body]);
  });

  test('keeps the ID of the key that added it, which no client sees', async () => {
    const world = new World();
    const [ada, ben] = [world.key('free'), world.key('free')];
    world.put('pets', { ...rex, id: 7, name: 'seed' });
    const answers = [
      await create(world, ada, rex),
      await create(world, ben, rex, 'one'),
      await create(world, ben, rex, 'one'),
      await world.send(ben, 'GET /pets'),
    ];
    const [first, second] = answers.map(({ body }) => (body as { readonly id?: bigint }).id);
    answers.push(await world.send(ben, `GET /pets/${first}`));
    for (const { status, text } of answers) {
      expect(status).toBeLessThan(300);
      expect(text).not.toContain('addedBy');
    }
    const items = world.tables.items('Pets').map(({ id, addedBy }) => [String(id), addedBy]);
    // An animal of an earlier version has none.
    expect(Object.fromEntries(items)).toEqual({
      [String(first)]: 'key_1',
      [String(second)]: 'key_2',
      7: undefined,
    });
  });

  test('is stored with every field that the OpenAPI document has for it', async () => {
    const world = new World();
    const key = world.key('free');
    const schema = z.object({
      examples: z.optional(z.array(z.unknown())),
      enum: z.optional(z.array(z.unknown())),
    });
    const document = z.object({
      components: z.object({
        schemas: z.object({ NewPet: z.object({ properties: z.record(z.string(), schema) }) }),
      }),
    });
    const { properties } = z.parse(document, withoutReferences(await openApiDocument())).components.schemas
      .NewPet;
    const sent = Object.fromEntries(
      Object.entries(properties).map(([name, { examples, enum: values }]) => [
        name,
        (examples ?? values)![0],
      ]),
    );
    const { body } = await create(world, key, sent);
    const { id, ...fields } = z.parse(pet, body);
    expect(fields).toEqual(parseJson(JSON.stringify(sent)));
    expect((await world.send(key, `GET /pets/${id}`)).body).toEqual(body);
    expect((await everyPage(world, key, '/pets')).flat()).toEqual([body]);
  });

  test('is available unless its status says otherwise', async () => {
    const world = new World();
    expect(await create(world, world.key('free'), { name: 'Rex', categoryId: 7 })).toMatchObject({
      body: { status: 'available' },
    });
  });

  test('may be sent with unknown fields and an ID, which are ignored', async () => {
    const world = new World();
    const key = world.key('free');
    const { id } = z.parse(pet, (await create(world, key, { ...rex, id: 1, owner: 'me' })).body);
    expect(id).toBeGreaterThan(1n);
    const strange = '{"name":"Rex","categoryId":7,"__proto__":{"name":"Max"},"constructor":null}';
    expect(await create(world, key, strange)).toMatchObject({ status: 201, body: { name: 'Rex' } });
  });

  test('may be sent in bytes', async () => {
    const world = new World();
    const body = Buffer.from('{"name":"Müsli","categoryId":7}');
    expect(await world.send(world.key('free'), 'POST /pets', { body })).toMatchObject({
      body: { name: 'Müsli' },
    });
  });

  test.each(['9223372036854775807', '-9223372036854775808', '9007199254740993', '0'])(
    'keeps every digit of the categoryId %s',
    async (digits) => {
      const world = new World();
      const key = world.key('free');
      const answer = await create(world, key, `{"name":"Rex","categoryId":${digits}}`);
      const fetched = await world.send(key, `GET /pets/${z.parse(pet, answer.body).id}`);
      const listed = await world.send(key, 'GET /pets');
      for (const { text } of [answer, fetched, listed]) expect(text).toContain(`"categoryId":${digits},`);
    },
  );

  test('keeps every character of its name', async () => {
    const world = new World({ isChecked: false });
    const key = world.key(ample);
    await fc.assert(
      fc.asyncProperty(
        arbitrary.int64,
        arbitrary.petName,
        arbitrary.petStatus,
        async (categoryId, name, status) => {
          const body = `{"name":${JSON.stringify(name)},"categoryId":${categoryId},"status":"${status}"}`;
          const answer = await create(world, key, body);
          expect(answer).toMatchObject({ status: 201, body: { name, categoryId, status } });
          const { id } = z.parse(pet, answer.body);
          expect((await world.send(key, `GET /pets/${id}`)).body).toEqual(answer.body);
        },
      ),
      { numRuns: rounds({ full: 40, sample: 8 }) },
    );
  });
});

describe('a body', () => {
  const unreadable = [
    '',
    ' ',
    'R\0x',
    'Rex\n',
    '\u001b[2J',
    '\u009b2J',
    '\u200b',
    '\u00a0',
    '\ud800',
    'a\udc08b',
    '\ufffd',
    'Bell\ufffd',
    'Bell\uffff',
  ];
  const fields = Object.keys(newPet.shape);
  /** The fields that take any text that can be read. */
  const textFields = fields.filter(
    (field) => newPet.safeParse({ ...rex, categoryId: 7n, [field]: 'Anna' }).success,
  );

  test('is refused with every error', async () => {
    const world = new World();
    const answer = await create(world, world.key('free'), { name: ' ', status: 'adopted' });
    const message =
      'name: must not be empty or only whitespace; categoryId: is required; ' +
      'status: must be one of available, pending, sold';
    expect(answer).toMatchObject(anError('invalid_request', { message }));
  });

  test('has no text that nobody can read, in any field', async () => {
    const world = new World({ isChecked: false });
    const key = world.key(ample);
    expect(textFields).toContain('name');
    for (const field of textFields)
      for (const text of unreadable) {
        const message = expect.stringMatching(`^${field}: must `) as string;
        expect(await create(world, key, { ...rex, [field]: text })).toMatchObject(
          anError('invalid_request', { message }),
        );
      }
  });

  test.each([
    ['too long', ' '.repeat(65_537), 'payload_too_large', {}],
    ['of another type', JSON.stringify(rex), 'unsupported_media_type', { contentType: 'text/plain' }],
  ] as const)('is refused if it is %s', async (_what, body, code, more) => {
    const world = new World();
    expect(await world.send(world.key('free'), 'POST /pets', { body, ...more })).toMatchObject(anError(code));
  });

  test('of any bytes gets 201 or 400, never 500', async () => {
    const world = new World({ isChecked: false });
    const key = world.key(ample);
    const value = fc.oneof(
      arbitrary.petName,
      fc.constantFrom(...unreadable),
      fc.array(fc.constantFrom(...unreadable, 'Rex'), { maxLength: 4 }).map((parts) => parts.join('')),
      fc.integer(),
      fc.double(),
      arbitrary.petStatus,
      fc.jsonValue(),
    );
    const anyField = fc.tuple(fc.constantFrom(...fields, 'id'), value);
    const almostAnAnimal = fc.array(anyField, { maxLength: 3 }).map((some) => Object.fromEntries(some));
    const seen = new Set<number>();
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
          fc.json(),
          almostAnAnimal.map((some) => JSON.stringify(some)),
          almostAnAnimal.map((some) => JSON.stringify({ ...rex, ...some })),
        ),
        async (body) => {
          const answer = await world.send(key, 'POST /pets', { body });
          seen.add(answer.status);
          if (answer.status === 201) z.parse(pet, answer.body);
          else expect(answer).toMatchObject(anError('invalid_request'));
        },
      ),
      { numRuns: rounds({ full: 150, sample: 40 }), examples: [[JSON.stringify(rex)]] },
    );
    expect(seen).toEqual(new Set([201, 400]));
  });
});

describe('with an Idempotency-Key', () => {
  test('every answer and every animal is that of the model, whenever, whoever, and whatever is lost', async () => {
    // Each line has the spellings of one request. Some differ only in what this version does not know.
    const bodies = [
      ['{"name":"Rex","categoryId":7}', '{ "categoryId": 7, "name": "R\\u0065x" }'],
      ['{"name":"Rex","categoryId":7,"status":"available"}'],
      ['{"name":"rex","categoryId":7}'],
      ['{"name":"Rex","categoryId":7,"weight":0.1}', '{"name":"Rex","categoryId":7,"weight":1e-1}'],
      ['{"name":"Rex","categoryId":7,"weight":0.10000000000000000001}'],
      ['{"name":"Rex","categoryId":7,"weight":null}'],
      ['{"name":"Rex","categoryId":7,"weight":1e400}'],
    ];
    const step = fc.record({
      after: fc.constantFrom(0, 0, 0, 1, 86_398, 86_399, 86_400),
      owner: fc.constantFrom(0, 0, 0, 1),
      text: fc.constantFrom('a', 'a', 'a', 'A', 'b', undefined),
      body: fc.constantFrom(...bodies.flatMap((all, index) => all.map((text) => [text, index] as const))),
      answers: fc.constantFrom<Answers>('all', 'all', 'all', 'all', 'afterwards', 'none'),
      repeated: fc.constantFrom('lostBefore', 'lostAfter', 'conflict', undefined, undefined),
    });
    const met = new Set<string>();
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 10 }), async (steps) => {
        // The SDK repeats less after many failures, so that each run needs environments of its own.
        const world = new World({ isChecked: false });
        const owners = [world.key(ample), world.key(ample)];
        const model = new Creations();
        const animals = new Map<number, unknown>();
        for (const {
          after,
          owner,
          text,
          body: [body, of],
          answers,
          repeated,
        } of steps) {
          world.wait(after);
          const now = world.now;
          let calls = 0;
          world.meets = ({ table }) => {
            if (table !== 'Pets') return 'answered';
            calls += 1;
            if (answers === 'none') return 'hungBefore';
            if (answers === 'afterwards') return 'hungAfter';
            // A call of its own is repeated as a creation with another ID, so only the SDK's own attempts are hidden.
            return calls === 1 && text !== undefined && repeated !== undefined ? repeated : 'answered';
          };
          const answer = await create(world, owners[owner]!, body, text);
          const wanted = model.request(text && `${owner} ${text}`, String(of), now, answers);
          met.add(wanted.outcome);
          const replayed = answer.headers['Idempotency-Replayed'] === 'true';
          const outcome =
            answer.status === 201
              ? replayed
                ? 'replayed'
                : 'created'
              : answer.status === 422
                ? 'mismatch'
                : 'unknown';
          expect([outcome, answer.code]).toEqual([
            wanted.outcome,
            {
              created: undefined,
              replayed: undefined,
              mismatch: 'idempotency_key_reused',
              unknown: 'service_unavailable',
            }[wanted.outcome],
          ]);
          expect([answer.log['PetsCreated'], answer.log['CreationsReplayed']]).toEqual([
            outcome === 'created' ? 1 : undefined,
            outcome === 'replayed' ? 1 : undefined,
          ]);
          // It is the first answer, again and again.
          if (wanted.animal !== undefined) {
            const told = [answer.text, answer.headers['Location']];
            expect(told).toEqual(animals.get(wanted.animal) ?? told);
            animals.set(wanted.animal, told);
          }
          expect(world.tables.items('Pets')).toHaveLength(model.animals);
        }
      }),
      { numRuns: rounds({ full: 500, sample: 60 }) },
    );
    // Without these outcomes the test would prove nothing.
    expect(met).toEqual(new Set(['created', 'replayed', 'mismatch', 'unknown']));
  });

  test('repeated after a lost answer it is answered as the first, and one animal is stored', async () => {
    const world = new World();
    const key = world.key('free');
    world.meets = ({ table }) => (/Pets|Idempotency/.test(table) ? 'hungAfter' : 'answered');
    const message = expect.stringContaining('retry with the same Idempotency-Key and body.') as string;
    expect(await create(world, key, rex, 'one')).toMatchObject(anError('service_unavailable', { message }));
    world.meets = () => 'answered';
    const repeated = await create(world, key, rex, 'one');
    expect(repeated).toMatchObject({ status: 201, headers: { 'Idempotency-Replayed': 'true' } });
    expect(world.tables.items('Pets')).toEqual([expect.objectContaining({ name: 'Rex' })]);
  });

  test.each([
    ['a name in another Unicode normal form', 'Zo\u00eb', 'Zoe\u0308'],
    ['a name in another compatibility form', 'Rex 1', 'Rex \u2460'],
    ['a name with a space more', 'Rex', 'Rex '],
  ])('used again for %s it gets 422', async (_what, name, other) => {
    const world = new World();
    const key = world.key('free');
    expect(await create(world, key, { ...rex, name }, 'one')).toMatchObject({ status: 201, body: { name } });
    expect(await create(world, key, { ...rex, name: other }, 'one')).toMatchObject(
      anError('idempotency_key_reused'),
    );
  });

  test.each([
    [
      'twice',
      [
        ['Idempotency-Key', 'a'],
        ['Idempotency-Key', 'a'],
      ],
      'must be sent only once',
    ],
    [
      'in two spellings',
      [
        ['Idempotency-Key', 'a'],
        ['idempotency-key', 'b'],
      ],
      'must be sent only once',
    ],
    ['empty', [['Idempotency-Key', '']], 'must be 1 to 255 printable ASCII characters'],
    ['too long', [['Idempotency-Key', 'a'.repeat(256)]], 'must be 1 to 255 printable ASCII characters'],
  ] as const)('sent %s, the request is refused', async (_how, headers, message) => {
    const world = new World({ isChecked: false });
    const answer = await world.send(world.key('free'), 'POST /pets', { body: JSON.stringify(rex), headers });
    expect(answer).toMatchObject(anError('invalid_request', { message: `Idempotency-Key: ${message}` }));
  });

  test('of a request that is rejected or invalid it stays free', async () => {
    const world = new World();
    const key = world.key({ perMinute: 2, perDay: 100 });
    expect((await create(world, key, '{}', 'one')).status).toBe(400);
    await world.send(key);
    expect((await create(world, key, rex, 'one')).status).toBe(429);
    world.wait(60);
    const created = await create(world, key, { ...rex, name: 'Max' }, 'one');
    expect(created.status).toBe(201);
    expect(created.headers).not.toHaveProperty('Idempotency-Replayed');
  });

  test('neither it nor the body is stored or logged in plain text, and its record expires', async () => {
    const world = new World();
    const key = world.key('free');
    const text = 'unmistakable key';
    const { log } = await create(world, key, { ...rex, name: 'Unmistakable' }, text);
    const [record] = world.tables.items('Idempotency');
    expect(Object.keys(record!).toSorted()).toEqual(['expiresAt', 'id', 'pet', 'requestHash']);
    expect(record).toMatchObject({
      id: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
      expiresAt: world.now + 86_400,
    });
    expect(JSON.stringify([log, record])).not.toContain(text);
    expect(JSON.stringify(log)).not.toContain('Unmistakable');
  });

  test('a request meets another transaction again after waits that grow, and are not those of others', async () => {
    const world = new World();
    const key = world.key('free');
    world.meets = ({ table }, number) => (table === 'Pets' && number <= 9 ? 'conflict' : 'answered');
    const sent = { body: JSON.stringify(rex), idempotencyKey: 'one' };
    const answers = await Promise.all([
      world.send(key, 'POST /pets', sent),
      world.send(key, 'POST /pets', { ...sent, idempotencyKey: 'two' }),
    ]);
    const waits = answers.map(({ status, calls }) => {
      expect(status).toBe(201);
      const times = calls.filter(({ table }) => table === 'Pets').map(({ sentAt }) => sentAt);
      return times.slice(1).map((time, index) => time - times[index]!);
    });
    const most = [25, 50, 100, 200, 400, 400, 400];
    for (const each of waits)
      for (const [index, wait] of each.entries()) expect(wait).toBeLessThanOrEqual(most[index]!);
    // Without jitter they would all be the same.
    expect(waits[0]).not.toEqual(waits[1]);
    const share = waits.flatMap((each) => each.map((wait, index) => wait / most[index]!));
    expect(Math.min(...share)).toBeLessThan(0.6);
    expect(Math.max(...share)).toBeGreaterThan(0.6);
  });

  test('a request that only meets other transactions gets 503 in time', async () => {
    const world = new World();
    world.meets = ({ table }) => (table === 'Pets' ? 'conflict' : 'answered');
    expect(await create(world, world.key('free'), rex, 'one')).toMatchObject(anError('service_unavailable'));
    expect(world.tables.items('Pets')).toEqual([]);
  });

  test('a request whose transaction is throttled is not repeated more than once, in whatever words, and gets 503', async () => {
    const told = new Set<string | undefined>();
    for (const variant of [0, 0.2, 0.4, 0.6, 0.8, 0.99]) {
      const world = new World({ isChecked: false });
      world.meets = (call) => {
        if (call.table !== 'Pets') return 'answered';
        call.variant = variant;
        return 'throttled';
      };
      const answer = await create(world, world.key('free'), rex, 'one');
      expect(answer).toMatchObject(anError('service_unavailable'));
      const calls = answer.calls.filter(({ table }) => table === 'Pets');
      expect(calls.length).toBeLessThanOrEqual(2);
      for (const { outcome } of calls) told.add(outcome);
    }
    // A transaction is cancelled for a reason of one of its items, or as a whole.
    expect([...told].join()).toMatch(/ThrottlingError/);
    expect([...told].join()).toMatch(/ProvisionedThroughputExceeded(?!Exception)/);
  });

  test('a request whose transaction is denied is not repeated', async () => {
    const world = new World({ isChecked: false });
    world.meets = ({ table }) => (table === 'Pets' ? 'denied' : 'answered');
    const { status, calls } = await create(world, world.key('free'), rex, 'one');
    expect(status).toBe(500);
    expect(calls.filter(({ table }) => table === 'Pets')).toHaveLength(1);
  });
});

describe('without an Idempotency-Key', () => {
  test.each(['lostAfter', 'lostBefore', 'failed'] as const)(
    'a call that is %s is repeated by the SDK and creates one animal, also if its status changes meanwhile',
    async (fate) => {
      const world = new World({ isChecked: false });
      let calls = 0;
      world.meets = ({ table }) => {
        if (table !== 'Pets' || (calls += 1) > 2) return 'answered';
        const [stored] = world.tables.items('Pets');
        if (stored !== undefined) world.put('pets', { ...stored, status: 'pending' });
        return calls === 1 ? fate : 'answered';
      };
      const answer = await create(world, world.key('free'), rex);
      expect(answer).toMatchObject({ status: 201, body: { name: 'Rex', status: 'sold' } });
      expect(world.tables.items('Pets')).toHaveLength(1);
    },
  );

  test('an animal in the way that a transaction is writing is another ID, five times at most', async () => {
    for (const [conflicts, status] of [
      [4, 201],
      [5, 503],
    ]) {
      const world = new World({ isChecked: false });
      let met = 0;
      world.meets = ({ table }) => (table === 'Pets' && met++ < conflicts! ? 'conflict' : 'answered');
      expect((await create(world, world.key('free'), rex)).status).toBe(status);
    }
  });
});

const once = (world: World, key: Key) => create(world, key, rex, 'one');
const other = (world: World, key: Key) => create(world, key, { ...rex, name: 'Max' }, 'one');
const plain = (world: World, key: Key) => create(world, key, rex);
const started = { minute: 1_782_907_200, minuteCount: 1, day: 1_782_864_000, dayCount: 1 };

test.each<[string, readonly ((world: World, key: Key) => Promise<unknown>)[], number]>([
  ['two with one key and one body', [once, once], 1],
  ['two with one key and two bodies', [once, other], 1],
  ['one with a key and one without', [once, plain], 2],
])(
  '%s at the same time, and one later, in every order and with a fault, are told what is stored',
  async (_name, steps, most) => {
    const schedules = await explore({
      given: (world) => world.key({ perMinute: 10, perDay: 10 }, started),
      steps,
      afterwards: [once],
      faults: 1,
      kinds: ['lostBefore', 'lostAfter', 'throttled', 'conflict', ...(isFullRun ? (['late'] as const) : [])],
      check: ({ tables }) => {
        const count = tables.items('Pets').length;
        expect([count >= 1, count <= most]).toEqual([true, true]);
      },
    });
    expect(schedules).toBeGreaterThan(20);
  },
);

test('a lost answer before a conflict with a transaction is a 503: the animal may be stored', async () => {
  const world = new World({ isChecked: false });
  let puts = 0;
  world.meets = ({ operation }) => {
    if (operation !== 'PutItem' || (puts += 1) > 2) return 'answered';
    return puts === 1 ? 'lostAfter' : 'conflict';
  };
  expect(await create(world, world.key('free'), rex)).toMatchObject(anError('service_unavailable'));
  expect(world.tables.items('Pets')).toHaveLength(1);
});

test.each([
  ['ThrottlingError', 'service_unavailable'],
  ['ProvisionedThroughputExceeded', 'service_unavailable'],
  ['ValidationError', 'internal_error'],
] as const)('a transaction that is cancelled by %s is not repeated', async (code, wanted) => {
  const world = new World({ isChecked: false });
  const call = world.tables.call.bind(world.tables);
  let transactions = 0;
  world.tables.call = (operation, ...rest) => {
    if (operation !== 'TransactWriteItems') return call(operation, ...rest);
    transactions += 1;
    throw cancelled([{ Code: 'None' }, { Code: code }]);
  };
  expect(await create(world, world.key('free'), rex, 'one')).toMatchObject(anError(wanted));
  expect(transactions).toBe(1);
});
