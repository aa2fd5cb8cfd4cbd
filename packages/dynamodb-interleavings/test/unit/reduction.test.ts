import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { explore, type Fault, faults, type History, type Options, type Request } from '../../src/index.ts';

/*
 * Random programs have the same results with and without the reduction. They speak DynamoDB's protocol, without the SDK, so that a
 * schedule takes little time.
 */

const TableName = 'Items';
const tables = [
  {
    TableName,
    KeySchema: [
      { AttributeName: 'p', KeyType: 'HASH' },
      { AttributeName: 's', KeyType: 'RANGE' },
    ],
    AttributeDefinitions: ['p', 's', 'g'].map((name) => ({
      AttributeName: name,
      AttributeType: 'S' as const,
    })),
    GlobalSecondaryIndexes: [
      {
        IndexName: 'global',
        KeySchema: [{ AttributeName: 'g', KeyType: 'HASH' }],
        Projection: { ProjectionType: 'ALL' },
      },
    ],
  },
] as const;
const keyOf = (name: string) => ({ p: { S: name[0]! }, s: { S: name[1]! } });
const items = { [TableName]: [{ p: 'x', s: '1', g: 'g', n: 1 }] };

interface Shared {
  count: number;
  /** Names it in the footprint of the step that uses it. */
  readonly use: () => void;
}
interface Step {
  readonly kind: string;
  readonly first: string;
  readonly second: string;
  readonly isConsistent: boolean;
}
interface Program {
  readonly steps: readonly Step[];
  /** Goes on after an answer that is lost. */
  readonly goesOn: boolean;
}

const condition = (value: string) => ({
  ConditionExpression: 'n = :n OR attribute_not_exists(p)',
  ExpressionAttributeValues: { ':n': { N: value } },
});
const query = { KeyConditionExpression: 'p = :p' };
/** The input of each call, with a value that depends on what was read. */
const calls: Readonly<
  Record<string, (step: Step, value: string) => readonly [operation: string, input: object]>
> = {
  get: ({ first, isConsistent: ConsistentRead }) => [
    'GetItem',
    { TableName, Key: keyOf(first), ConsistentRead },
  ],
  put: ({ first }, value) => ['PutItem', { TableName, Item: itemOf(first, value) }],
  putOnCondition: ({ first }, value) => [
    'PutItem',
    { TableName, Item: itemOf(first, value), ...condition(value) },
  ],
  update: ({ first }, value) => [
    'UpdateItem',
    {
      TableName,
      Key: keyOf(first),
      UpdateExpression: 'ADD n :n',
      ExpressionAttributeValues: { ':n': { N: value } },
      ReturnValues: 'ALL_NEW',
    },
  ],
  delete: ({ first }) => ['DeleteItem', { TableName, Key: keyOf(first), ReturnValues: 'ALL_OLD' }],
  query: ({ first, isConsistent: ConsistentRead }) => [
    'Query',
    { TableName, ...query, ExpressionAttributeValues: { ':p': { S: first[0] } }, ConsistentRead },
  ],
  queryIndex: () => [
    'Query',
    {
      TableName,
      IndexName: 'global',
      KeyConditionExpression: 'g = :g',
      ExpressionAttributeValues: { ':g': { S: 'g' } },
    },
  ],
  scan: ({ isConsistent: ConsistentRead }) => ['Scan', { TableName, ConsistentRead }],
  transactWrite: ({ first, second }, value) => [
    'TransactWriteItems',
    {
      TransactItems: [
        { Put: { TableName, Item: itemOf(first, value) } },
        ...(first === second
          ? []
          : [{ ConditionCheck: { TableName, Key: keyOf(second), ...condition(value) } }]),
      ],
    },
  ],
  transactGet: ({ first }) => [
    'TransactGetItems',
    { TransactItems: [{ Get: { TableName, Key: keyOf(first) } }] },
  ],
  batchWrite: ({ first, second }, value) => [
    'BatchWriteItem',
    {
      RequestItems: {
        [TableName]: [
          { PutRequest: { Item: itemOf(first, value) } },
          ...(first === second ? [] : [{ DeleteRequest: { Key: keyOf(second) } }]),
        ],
      },
    },
  ],
  batchGet: ({ first, second, isConsistent: ConsistentRead }) => [
    'BatchGetItem',
    { RequestItems: { [TableName]: { Keys: [...new Set([first, second])].map(keyOf), ConsistentRead } } },
  ],
};

function itemOf(name: string, value: string): object {
  return { ...keyOf(name), n: { N: value }, ...(Number(value) % 2 === 0 && { g: { S: 'g' } }) };
}

/** `leave` makes a call later and does not wait for it, `race` waits for a call only for a while, `both` makes two at once. */
const others = ['sleep', 'time', 'leave', 'race', 'both'] as const;
const sleep = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Returns everything that it has seen. */
const requestOf =
  ({ steps, goesOn }: Program): Request<Shared> =>
  async ({ client: { requestHandler }, shared }) => {
    const seen: string[] = [];
    let value = 1;
    const send = async (kind: string, step: Step) => {
      const [operation, input] = calls[kind]!(step, String(value));
      const headers = { 'x-amz-target': `DynamoDB_20120810.${operation}` };
      const { response } = await requestHandler.handle({ headers, body: JSON.stringify(input) });
      return (response as { readonly body: Buffer }).body.toString();
    };
    const put = (step: Step) =>
      send('update', step).then(
        () => 'put',
        () => 'put',
      );
    for (const step of steps) {
      const duration = step.isConsistent ? 200 : 1_500;
      if (step.kind === 'sleep') await sleep(duration);
      else if (step.kind === 'time') seen.push(`${Date.now() % 100_000 > 500}`);
      else if (step.kind === 'leave') setTimeout(() => void put(step), duration);
      else if (step.kind === 'race')
        seen.push(await Promise.race([put(step), sleep(duration).then(() => 'late')]));
      else if (step.kind === 'both') {
        const both = [send('update', step), send('get', { ...step, first: step.second })];
        seen.push(JSON.stringify(await Promise.allSettled(both)));
      } else if (step.kind === 'shared') {
        shared.use();
        seen.push(`shared ${(shared.count += 1)}`);
      } else
        try {
          seen.push(await send(step.kind, step));
        } catch (error) {
          if (!goesOn) throw error;
          seen.push(String(error));
        }
      value = [...(seen.at(-1) ?? '')].reduce(
        (sum, letter) => (sum * 31 + letter.codePointAt(0)!) % 5,
        value,
      );
    }
    return seen;
  };

const step = fc.record({
  kind: fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...Object.keys(calls)) },
    { weight: 2, arbitrary: fc.constantFrom(...others) },
  ),
  first: fc.constantFrom('x1', 'x2', 'y1'),
  second: fc.constantFrom('x1', 'x2', 'y1'),
  isConsistent: fc.boolean(),
});
const program = (most: number): fc.Arbitrary<Program> =>
  fc.record({ steps: fc.array(step, { minLength: 1, maxLength: most }), goesOn: fc.boolean() });
const makeCalls = (programs: readonly Program[]) =>
  programs.some(({ steps }) => steps.some(({ kind }) => kind in calls));
const scene = fc
  .record({
    programs: fc.oneof(
      fc.tuple(program(4), program(4)),
      fc.tuple(program(2), program(2), program(2)),
      program(3).map((each) => [each, each]),
      program(2).map((each) => [each, each, each]),
    ),
    shares: fc.option(fc.nat(3), { freq: 4 }),
    namesShared: fc.boolean(),
    faults: fc.constantFrom(0, 1),
    kinds: fc.uniqueArray(fc.constantFrom(...faults), { minLength: 1, maxLength: 2 }),
    delays: fc.constantFrom(0, 1),
    hasEvent: fc.boolean(),
  })
  .filter(({ programs }) => makeCalls(programs));
type Scene = typeof scene extends fc.Arbitrary<infer Each> ? Each : never;

const budget = 4_000;

/** What comes of a scene in any schedule: outcomes and tables. Undefined: there are too many schedules. */
async function resultsOf(of: Scene, options: Pick<Options, 'reduce'>) {
  const results = new Set<string>();
  const { programs, shares, namesShared, faults: most, kinds, delays, hasEvent } = of;
  const requests = new Map(
    programs.map(({ steps, ...each }) => {
      const shared = { ...steps[0]!, kind: 'shared' };
      return [
        steps,
        requestOf({ ...each, steps: shares === null ? steps : steps.toSpliced(shares, 0, shared) }),
      ];
    }),
  );
  const check = ({ outcomes, tables: { contents } }: History<Shared>): undefined => {
    // Equal requests can change places.
    const each = outcomes.map((outcome, index) =>
      JSON.stringify([
        programs.findIndex(({ steps }) => steps === programs[index]!.steps),
        outcome,
        String('reason' in outcome && outcome.reason),
      ]),
    );
    results.add(JSON.stringify([each.toSorted(), contents]));
  };
  const report = await explore<Shared>({
    ...options,
    tables,
    items,
    requests: programs.map(({ steps }) => requests.get(steps)!),
    namesShared,
    ...(shares !== null && {
      shared: ({ tables: all }) => ({
        count: 0,
        use: () => namesShared && all.footprint.add('count', 'write'),
      }),
    }),
    ...(hasEvent && {
      events: { 'somebody deletes x1': ({ tables: all }) => all.delete(TableName, keyOf('x1')) },
    }),
    faults: most,
    kinds,
    delays,
    budget,
    check,
  });
  return report.isComplete ? { results: [...results].toSorted(), schedules: report.schedules } : undefined;
}

const isFullRun = process.env['CI'] !== undefined || process.env['FULL'] !== undefined;
/** More runs, and another seed, by the environment. */
const runs = Number(process.env['RUNS'] ?? (isFullRun ? 40 : 15));
const seed = Number(process.env['SEED'] ?? 1);

test('the reduction leaves out no result', { timeout: 600_000 }, async () => {
  const sums = { compared: 0, all: 0, reduced: 0 };
  await fc.assert(
    fc.asyncProperty(scene, async (each) => {
      const all = await resultsOf(each, { reduce: false });
      if (all === undefined) return;
      const reduced = await resultsOf(each, { reduce: true });
      expect(reduced?.results).toEqual(all.results);
      expect(reduced!.schedules).toBeLessThanOrEqual(all.schedules);
      sums.compared += 1;
      sums.all += all.schedules;
      sums.reduced += reduced!.schedules;
    }),
    { numRuns: runs, seed },
  );
  expect(sums.reduced).toBeLessThan(sums.all);
});

const twins = fc.constantFrom<[Fault, Fault][]>(
  ['lostBefore', 'lostAfter'],
  ['lostBefore', 'late'],
  ['hungBefore', 'hungAfter'],
  ['unreadableBefore', 'unreadableAfter'],
  ['crashedBefore', 'crashedAfter'],
);

/** With both faults, and what they have one by one. */
async function resultsWithBoth(each: Scene, [one, other]: readonly [Fault, Fault]) {
  const resultsWith = async (...kinds: Fault[]) =>
    (await resultsOf({ ...each, faults: 1, kinds }, { reduce: true }))!.results;
  const apart = [...(await resultsWith(one)), ...(await resultsWith(other))];
  return { together: await resultsWith(one, other), apart: [...new Set(apart)].toSorted() };
}

test('a fault that is left out beside another one has the same results', { timeout: 600_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(
      scene,
      fc.tuple(program(2), program(2)).filter(makeCalls),
      twins,
      async (each, programs, pair) => {
        const { together, apart } = await resultsWithBoth({ ...each, programs }, pair);
        expect(together).toEqual(apart);
      },
    ),
    { numRuns: runs, seed },
  );
});

const programOf = (...steps: Pick<Step, 'kind' | 'first'>[]): Program => ({
  steps: steps.map((each) => ({ ...each, second: 'x1', isConsistent: false })),
  goesOn: false,
});
const bare = { shares: null, namesShared: false, faults: 1, delays: 0, hasEvent: false } as const;

test('a fate that sleeps while another one of its call does not is still in races', async () => {
  const programs = [
    programOf({ kind: 'batchGet', first: 'x2' }),
    programOf({ kind: 'get', first: 'x1' }),
    programOf({ kind: 'putOnCondition', first: 'x1' }, { kind: 'get', first: 'x1' }),
  ];
  const each: Scene = { ...bare, programs, shares: 2, namesShared: true, kinds: ['unreadableBefore'] };
  const all = await resultsOf(each, { reduce: false });
  expect((await resultsOf(each, { reduce: true }))?.results).toEqual(all!.results);
});

test('a call that would be refused now can arrive later', async () => {
  const writer = programOf(
    { kind: 'get', first: 'x2' },
    { kind: 'putOnCondition', first: 'x1' },
    { kind: 'put', first: 'y1' },
  );
  const reader = programOf({ kind: 'get', first: 'y1' }, { kind: 'delete', first: 'x1' });
  const programs = [{ ...writer, goesOn: true }, reader];
  const { together, apart } = await resultsWithBoth({ ...bare, kinds: [], programs }, ['lostBefore', 'late']);
  expect(together).toEqual(apart);
});

test('a call that is late makes no time for timers that go off after the last request', async () => {
  const get = { kind: 'get', first: 'x1' };
  const programs = [programOf({ kind: 'leave', first: 'x1' }), { ...programOf(get, get), goesOn: true }];
  const { together, apart } = await resultsWithBoth({ ...bare, kinds: [], programs }, ['lostBefore', 'late']);
  expect(together).toEqual(apart);
});
