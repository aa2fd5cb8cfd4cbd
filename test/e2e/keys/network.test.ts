import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ApiKey, DeleteApiKeyCommand, paginateGetApiKeys } from '@aws-sdk/client-api-gateway';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import { readUsages } from '../../../tools/keys/key-usage.ts';
import { gatewayValueOf, isValid } from '../../../tools/keys/records.ts';
import type { KeyService } from '../../../tools/keys/service.ts';
import { statusOf } from '../../../tools/keys/views.ts';
import { rounds } from '../../support/rounds.ts';
import type { Run, RunOptions } from '../../support/tool-runs.ts';
import { isFullRun, isLocal } from '../support.ts';
import { type Forwarder, forwardTo } from '../../support/forwarder.ts';
import {
  cleanUpLater,
  create,
  expectConsistent,
  failurePoints,
  keysIn,
  keysJson,
  keysLocal,
  newOwner,
  openLocal,
  recordsOf,
} from './support.ts';

/** The tool on a bad network: a server between it and the service refuses calls and loses answers. */

/**
 * What happens to a call. `lost` is executed, and its answer does not arrive; `replaced` is executed, and a page of a proxy
 * arrives; `dropped` is not executed.
 */
type Fate =
  'passed' | 'dropped' | 'lost' | 'replaced' | 'unavailable' | 'throttled' | 'conflict' | 'not found';

let fateOf: (operation: string) => Fate = () => 'passed';
let network: Forwarder | undefined;

beforeAll(async () => {
  const local = inject('local');
  if (local === undefined) return undefined;
  const fates = new WeakMap<IncomingMessage, Fate>();
  network = await forwardTo(local.endpoint, {
    answer: (incoming, outgoing) => {
      const fate = fateOf(operationOf(incoming));
      fates.set(incoming, fate);
      if (fate === 'passed' || fate === 'lost' || fate === 'replaced') return false;
      if (fate === 'dropped') outgoing.destroy();
      else refuse(fate, incoming, outgoing);
      return true;
    },
    losesAnswer: (incoming) => fates.get(incoming) === 'lost',
    replacesAnswer: (incoming) =>
      fates.get(incoming) === 'replaced' ? '<html><body>Sign in<br></body></html>' : undefined,
  });
  return () => network?.close();
});

/** `POST /apikeys`, `TransactWriteItems` or `cloudformation` */
function operationOf({ method, url = '', headers }: IncomingMessage): string {
  const target = String(headers['x-amz-target'] ?? '').split('.')[1];
  const service = /\/([a-z]+)\/aws4_request/.exec(headers.authorization ?? '')?.[1] ?? '';
  return target ?? (service === 'apigateway' ? `${method} ${url.split('?')[0]}` : service);
}

type Refusal = Exclude<Fate, 'passed' | 'lost' | 'replaced' | 'dropped'>;
type ErrorOfAws = readonly [status: number, name: string, message: string];

const unavailable: ErrorOfAws = [503, 'ServiceUnavailableException', 'Service Unavailable'];
const throttled: ErrorOfAws = [400, 'ThrottlingException', 'Rate exceeded'];
const errors: Readonly<Record<Refusal, ErrorOfAws>> = {
  unavailable,
  throttled,
  conflict: throttled,
  'not found': throttled,
};
const gatewayErrors: Readonly<Record<Refusal, ErrorOfAws>> = {
  unavailable,
  throttled: [429, 'TooManyRequestsException', 'Too Many Requests'],
  conflict: [
    409,
    'ConflictException',
    'Unable to complete operation due to concurrent modification. Please try again later.',
  ],
  'not found': [404, 'NotFoundException', 'Invalid API Key identifier specified'],
};

function refuse(fate: Refusal, incoming: IncomingMessage, outgoing: ServerResponse): void {
  const operation = operationOf(incoming);
  const isGateway = operation.includes('/');
  const [status, name, message] = (isGateway ? gatewayErrors : errors)[fate];
  const body =
    operation === 'cloudformation'
      ? `<ErrorResponse><Error><Type>Sender</Type><Code>${name}</Code><Message>${message}</Message></Error></ErrorResponse>`
      : JSON.stringify({ __type: name, message });
  outgoing.writeHead(status, { 'x-amzn-ErrorType': name }).end(body);
}

/** Runs the tool over the bad network. */
function overNetwork(args: readonly string[], fate: typeof fateOf, options: RunOptions = {}): Promise<Run> {
  fateOf = fate;
  const { credentials } = inject('local')!;
  return keysLocal(args, { local: { endpoint: network?.endpoint ?? '', credentials }, ...options });
}

interface Case {
  readonly command: string;
  /** Prepares what the command is about. Returns its arguments, and the keys shown so far. */
  readonly prepare: (owner: string) => Promise<{ readonly args: string[]; readonly shown: string[] }>;
}

const onKey = (command: string, ...options: string[]): Case => ({
  command,
  prepare: async (owner) => {
    const { keyId, key } = await create(owner);
    return { args: [command, keyId, ...options], shown: [key] };
  },
});

const cases: readonly Case[] = [
  {
    command: 'create',
    prepare: async (owner) => ({ args: ['create', '--owner', owner, '--plan', 'pro'], shown: [] }),
  },
  onKey('rotate', '--overlap', '0s'),
  onKey('rotate', '--overlap', '1h'),
  onKey('change-plan', '--plan', 'business'),
  onKey('revoke'),
  onKey('suspend'),
  {
    command: 'resume',
    prepare: async (owner) => {
      const { keyId, key } = await create(owner);
      await keysLocal(['suspend', keyId]);
      return { args: ['resume', keyId], shown: [key] };
    },
  },
  {
    command: 'repair',
    prepare: async (owner) => {
      const { key } = await create(owner);
      const service = await openLocal();
      const [record] = await recordsOf(service, owner);
      await service.apiGateway.send(new DeleteApiKeyCommand({ apiKey: record?.gatewayKeyId }));
      return { args: ['repair', '--owner', owner], shown: [key] };
    },
  },
];

interface State {
  /** What a command changes, of each key. */
  readonly keys: readonly object[];
  /** IDs of the owner's API Gateway keys that no valid key uses. */
  readonly orphans: readonly string[];
}

async function stateOf(service: KeyService, owner: string): Promise<State> {
  const now = service.now();
  const records = await recordsOf(service, owner);
  const usages = await readUsages(
    service.limitTable,
    records.map(({ keyHash }) => keyHash),
  );
  const gatewayKeys: ApiKey[] = [];
  const client = service.apiGateway;
  for await (const { items = [] } of paginateGetApiKeys({ client, pageSize: 500 }, { includeValues: true }))
    gatewayKeys.push(...items.filter(({ description = '' }) => description.endsWith(`owner ${owner}`)));
  const names = new Map(gatewayKeys.map(({ value, name = '' }) => [value, name]));
  const keys = records.map((key, index) => ({
    keyId: key.keyId,
    plan: key.plan,
    replacedBy: key.replacedBy,
    status: statusOf(key, usages[index]!, now),
    isValid: isValid(key, now),
    isInGateway: names.has(gatewayValueOf(key)),
  }));
  for (const key of records) if (isValid(key, now)) names.delete(gatewayValueOf(key));
  return {
    keys: keys.map(({ isInGateway, ...key }) => ({ ...key, ...(key.isValid && { isInGateway }) })),
    orphans: [...names.values()],
  };
}

/**
 * Runs a command over the bad network, and checks that what it says about its change is true, that it announces each
 * API Gateway key that it leaves, and that `cleanup` deletes it.
 */
async function tryCommand({ command, prepare }: Case, fate: typeof fateOf): Promise<Run> {
  const service = await openLocal();
  const owner = newOwner();
  const { args, shown } = await prepare(owner);
  const before = await stateOf(service, owner);
  const run = await overNetwork(args, fate);
  const after = await stateOf(service, owner);
  if (run.exitCode === 0) expect(after.keys).not.toEqual(before.keys);
  else if (run.exitCode === 1) {
    // `repair` has several steps. Its next run does the others.
    if (command !== 'repair') expect(after.keys).toEqual(before.keys);
  } else
    expect(run).toMatchObject({
      exitCode: 5,
      stderr: expect.stringMatching(/Outcome unknown: .* Run "show key_/),
    });
  for (const keyId of after.orphans)
    expect(run.stderr).toContain(
      run.exitCode === 5 ? '"cleanup" deletes' : `API Gateway key of ${keyId} is left over`,
    );
  if (after.orphans.length > 0) await cleanUpLater(owner);
  if (command === 'repair' && run.exitCode !== 0) await keysJson(args);
  await expectConsistent(service, owner, [...shown, ...keysIn(run.stdout)]);
  return run;
}

/** A generator of numbers in [0, 1): https://gist.github.com/tommyettinger/46a874533244883189143505d203312c */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const faults: readonly Fate[] = ['dropped', 'lost', 'unavailable', 'throttled', 'conflict'];

/** Each call fails with this probability. */
function failing(probability: number, random: () => number): typeof fateOf {
  return () => (random() < probability ? faults[Math.floor(random() * faults.length)]! : 'passed');
}

/** The calls of a command that succeeds. */
async function callsOf({ prepare }: Case): Promise<string[]> {
  const { args } = await prepare(newOwner());
  const calls: string[] = [];
  const run = await overNetwork(args, (operation) => {
    calls.push(operation);
    return 'passed';
  });
  expect(run).toMatchObject({ exitCode: 0 });
  return calls;
}

describe.runIf(isLocal)('over a bad network', () => {
  test('at most 5 of 200 runs fail if 30 % of the calls do', async () => {
    const runs = rounds({ full: 200, sample: 4 });
    const failed: string[] = [];
    for (let seed = 0; seed < runs; seed += 1) {
      const each = cases[seed % cases.length]!;
      const { exitCode, stderr } = await tryCommand(each, failing(0.3, seeded(seed)));
      if (exitCode !== 0) failed.push(`${each.command}: ${stderr}`);
    }
    expect(failed.slice(runs / 40)).toEqual([]);
  });

  test('a run that fails if 85 % of the calls do says what it did and left', async () => {
    const exitCodes = new Set<number>();
    for (let seed = 0; seed < rounds({ full: 80, sample: 8 }); seed += 1)
      exitCodes.add((await tryCommand(cases[seed % cases.length]!, failing(0.85, seeded(seed)))).exitCode);
    expect(exitCodes).toContain(1);
  });

  // A rotation without an overlap makes almost every call that others make.
  describe.each(isFullRun ? cases : cases.slice(1, 2))('$command', (each) => {
    test('succeeds if the answer of any one call is lost', async () => {
      const calls = await callsOf(each);
      for (const lost of failurePoints(calls)) {
        let call = -1;
        const run = await tryCommand(each, () => ((call += 1) === lost ? 'lost' : 'passed'));
        expect(run).toMatchObject({ exitCode: 0 });
      }
    });

    test('says what it did if a page of a proxy replaces the answer of any one call', async () => {
      const calls = await callsOf(each);
      for (const replaced of failurePoints(calls)) {
        let call = -1;
        const run = await tryCommand(each, () => ((call += 1) === replaced ? 'replaced' : 'passed'));
        // What is read afterwards shows that a change was made. A call that only reads is not repeated.
        const name = calls[replaced]!;
        const isRead = /^(GET|Query|GetItem|BatchGetItem|cloudformation)/.test(name);
        expect({ name, exitCode: run.exitCode }).toEqual({ name, exitCode: isRead ? 1 : 0 });
      }
    });

    test('says what it did and left if the network ends during any one call', async () => {
      const calls = await callsOf(each);
      const isWrite = (call: string) => /^(TransactWriteItems|UpdateItem)$/.test(call);
      const writes = calls.filter(isWrite).length;
      for (const last of failurePoints(calls)) {
        // Counted in the run itself: the number of pages of API keys depends on other tests.
        const made: string[] = [];
        const run = await tryCommand(each, (operation) => {
          if (made.length > last) return 'dropped';
          made.push(operation);
          return made.length > last ? 'lost' : 'passed';
        });
        // What fails after the last write is a note. `repair` changes API Gateway after it.
        const isDone = made.filter(isWrite).length === writes && each.command !== 'repair';
        expect(run.exitCode).toBe(isWrite(made.at(-1) ?? '') ? 5 : isDone ? 0 : 1);
      }
    });
  });

  test.each(cases.filter(({ command }) => command === 'create' || command === 'repair'))(
    '$command announces an API Gateway key that it cannot look up after a lost answer',
    async (each) => {
      let isLost = false;
      const { exitCode } = await tryCommand(each, (operation) => {
        if (operation === 'POST /apikeys' && !isLost) {
          isLost = true;
          return 'lost';
        }
        return isLost && operation === 'GET /apikeys' ? 'throttled' : 'passed';
      });
      expect(exitCode).toBe(1);
    },
  );

  test('a key that API Gateway does not find at first is added to its usage plan later', async () => {
    const owner = newOwner();
    let misses = 3;
    const run = await overNetwork(['create', '--owner', owner, '--plan', 'free'], (operation) =>
      operation.startsWith('POST /usageplans/') && (misses -= 1) >= 0 ? 'not found' : 'passed',
    );
    expect(run).toMatchObject({ exitCode: 0 });
    expect(await expectConsistent(await openLocal(), owner, keysIn(run.stdout))).toHaveLength(1);
  });

  test('commands at the same time all succeed, although API Gateway runs one call at a time', async () => {
    const owner = newOwner();
    const [rotated, moved, revoked] = [await create(owner), await create(owner), await create(owner)];
    let busyUntil = 0;
    // One conflict even if the commands happen not to overlap.
    let isFirst = true;
    const exclusive: typeof fateOf = (operation) => {
      if (!/^POST .*(apikeys|keys)$|^DELETE .*\/keys\//.test(operation)) return 'passed';
      if (isFirst || performance.now() < busyUntil) {
        isFirst = false;
        return 'conflict';
      }
      busyUntil = performance.now() + 20;
      return 'passed';
    };
    // A twentieth of the real delays.
    const shortSleep = (milliseconds: number) => sleep(milliseconds / 20);
    const runs = await Promise.all(
      [
        ['create', '--owner', owner, '--plan', 'free'],
        ['create', '--owner', owner, '--plan', 'pro'],
        ['rotate', rotated.keyId, '--overlap', '0s'],
        ['change-plan', moved.keyId, '--plan', 'business'],
        ['revoke', revoked.keyId],
      ].map((args) => overNetwork(args, exclusive, { sleep: shortSleep })),
    );
    expect(runs.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0, 0, 0]);
    expect(runs.some(({ stderr }) => stderr.includes('ConflictException'))).toBe(true);
    const shown = [rotated, moved, revoked].map(({ key }) => key);
    const issued = runs.flatMap(({ stdout }) => keysIn(stdout));
    expect(await expectConsistent(await openLocal(), owner, [...shown, ...issued])).toHaveLength(4);
  });
});
