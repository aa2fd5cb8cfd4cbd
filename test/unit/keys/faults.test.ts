import { DeleteApiKeyCommand } from '@aws-sdk/client-api-gateway';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { keysIn, newOwner } from '../../support/key-tool.ts';
import { isFullRun, rounds } from '../../support/rounds.ts';
import type { Run } from '../../support/run-in-process.ts';
import { type Fate, newAccount } from './account.ts';

/**
 * Every command that changes keys, killed after each of its steps, and over a network that fails at each of its calls: what
 * it says is true, no valid key is lost or left that nobody has seen, and the next run and `cleanup` complete it.
 */

let account: Awaited<ReturnType<typeof newAccount>>;
beforeAll(async () => {
  account = await newAccount();
});
afterAll(() => account.close());

interface Prepared {
  readonly owner: string;
  readonly args: readonly string[];
  /** Keys that somebody has seen. */
  readonly shown: readonly string[];
}

interface Case {
  readonly command: string;
  readonly prepare: (owner: string) => Promise<Omit<Prepared, 'owner'>>;
}

const onKey = (command: string, ...options: string[]): Case => ({
  command: [command, ...options].join(' '),
  prepare: async (owner) => {
    const { keyId, key } = await account.create(owner);
    // The authorizer caches it.
    expect(await account.call(key)).toBe(200);
    if (command === 'resume') await account.keysJson(['suspend', keyId]);
    return { args: [command, keyId, ...options], shown: [key] };
  },
});

const create: Case = {
  command: 'create',
  prepare: async (owner) => ({ args: ['create', '--owner', owner, '--plan', 'pro'], shown: [] }),
};
/** API Gateway has lost the key. */
const repair: Case = {
  command: 'repair',
  prepare: async (owner) => {
    const { key } = await account.create(owner);
    const service = await account.openLocal();
    const [record] = await account.recordsOf(service, owner);
    await service.apiGateway.send(new DeleteApiKeyCommand({ apiKey: record?.gatewayKeyId }));
    return { args: ['repair', '--owner', owner], shown: [key] };
  },
};
const cases: readonly Case[] = [
  create,
  onKey('rotate', '--overlap', '0s'),
  onKey('rotate', '--overlap', '1h'),
  onKey('change-plan', '--plan', 'business'),
  onKey('revoke'),
  onKey('suspend'),
  onKey('resume'),
  repair,
];

async function prepared({ prepare }: Case): Promise<Prepared> {
  const owner = newOwner();
  return { owner, ...(await prepare(owner)) };
}

/** The calls of a command that succeeds, its steps, and the state that it leaves. */
async function undisturbed(each: Case) {
  const { owner, args } = await prepared(each);
  const calls: string[] = [];
  const steps: string[] = [];
  const note = (operation: string): Fate => {
    calls.push(operation);
    return 'passed';
  };
  const run = await account.overNetwork(args, note, { afterStep: (step) => void steps.push(step) });
  expect(run).toMatchObject({ exitCode: 0 });
  return { calls, steps, keys: (await account.stateOf(owner)).keys };
}

/** Checks that the same command again, and `cleanup`, leave what an undisturbed run does. */
async function expectCompleted(
  { owner, args, shown }: Prepared,
  revealed: readonly string[],
  keys: readonly object[],
): Promise<void> {
  const again = await account.keysLocal(args);
  // A rotation that was made is not made again.
  expect([0, 4]).toContain(again.exitCode);
  // A revocation is complete without it.
  if (args[0] !== 'revoke') {
    await account.cleanUpLater(owner);
    account.forgetGranted();
  }
  const service = await account.openLocal();
  await account.expectConsistent(service, owner, [...shown, ...revealed, ...keysIn(again.stdout)]);
  const after = await account.stateOf(owner);
  expect(after.keys.slice(0, keys.length)).toEqual(keys);
  // A creation that was made is made again.
  expect(after.keys.length).toBeLessThanOrEqual(keys.length + (args[0] === 'create' ? 1 : 0));
}

/** Runs a command over a network, and checks that what it says about its change and about what it leaves is true. */
async function attack(
  each: Case,
  fateOf: (operation: string) => Fate,
  keys: readonly object[],
): Promise<Run> {
  const found = await prepared(each);
  const before = await account.stateOf(found.owner);
  const run = await account.overNetwork(found.args, fateOf);
  const after = await account.stateOf(found.owner);
  if (run.exitCode === 0) expect(after.keys).toEqual(keys);
  else if (run.exitCode === 5) expect(run.stderr).toMatch(/Outcome unknown: .* Run "show key_/);
  // `repair` has several steps. Its next run does the others.
  else if (each !== repair) expect(after.keys).toEqual(before.keys);
  for (const keyId of after.orphans)
    expect(run.stderr).toContain(
      run.exitCode === 5 ? '"cleanup" deletes' : `API Gateway key of ${keyId} is left over`,
    );
  if (run.exitCode !== 0 || after.orphans.length > 0) await expectCompleted(found, keysIn(run.stdout), keys);
  else
    await account.expectConsistent(await account.openLocal(), found.owner, [
      ...found.shown,
      ...keysIn(run.stdout),
    ]);
  return run;
}

/** All indexes in a full run, otherwise those around the first write of a record, which decides. */
const indexesOf = (names: readonly string[]): number[] =>
  [...names.keys()].filter(
    (index) => isFullRun || Math.abs(index - names.findIndex((name) => /^(record|Transact)/.test(name))) <= 1,
  );

const isWrite = (call: string) => /^(TransactWriteItems|UpdateItem)$/.test(call);

describe.each(cases)('$command', (each) => {
  test('that is killed after any step is completed by the next run', async () => {
    const { steps, keys } = await undisturbed(each);
    for (const count of indexesOf(steps)) {
      const found = await prepared(each);
      const before = await account.stateOf(found.owner);
      const revealed = await account.crash(found.args, count + 1);
      const after = await account.stateOf(found.owner);
      // The record is the step that makes or ends a key.
      const isMade = steps.slice(0, count + 1).includes('record');
      if (!isMade && each !== repair) expect(after.keys).toEqual(before.keys);
      for (const key of revealed) expect(await account.call(key)).toBe(isMade ? 200 : 401);
      // Another run might be making it.
      if (!isMade)
        expect(await account.keysJson(['cleanup', '--owner', found.owner])).toEqual({ removed: [] });
      await expectCompleted(found, revealed, keys);
    }
  });

  test('succeeds if the answer of any one call is lost', async () => {
    const { calls, keys } = await undisturbed(each);
    for (const lost of indexesOf(calls)) {
      let call = -1;
      const run = await attack(each, () => ((call += 1) === lost ? 'lost' : 'passed'), keys);
      expect(run).toMatchObject({ exitCode: 0 });
    }
  });

  test('says what it did if a page of a proxy replaces the answer of any one call', async () => {
    const { calls, keys } = await undisturbed(each);
    for (const replaced of indexesOf(calls)) {
      const name = calls[replaced]!;
      let call = -1;
      const run = await attack(each, () => ((call += 1) === replaced ? 'replaced' : 'passed'), keys);
      // What is read afterwards shows that a change was made. A call that only reads is not repeated.
      const isRead = /^(GET|Query|GetItem|BatchGetItem|cloudformation)/.test(name);
      expect({ name, exitCode: run.exitCode }).toEqual({ name, exitCode: isRead ? 1 : 0 });
    }
  });

  test('says what it did and left if the network ends during any one call', async () => {
    const { calls, keys } = await undisturbed(each);
    const writes = calls.filter(isWrite).length;
    for (const last of indexesOf(calls)) {
      const name = calls[last]!;
      let call = -1;
      const fateOf = (): Fate => ((call += 1) < last ? 'passed' : call === last ? 'lost' : 'dropped');
      const run = await attack(each, fateOf, keys);
      // What fails after the last write is a note. `repair` changes API Gateway after it.
      const isDone = calls.slice(0, last + 1).filter(isWrite).length === writes && each !== repair;
      expect({ name, exitCode: run.exitCode }).toEqual({
        name,
        exitCode: isWrite(name) ? 5 : isDone ? 0 : 1,
      });
    }
  });

  test('succeeds if most calls are refused or dropped at first', async () => {
    const { keys } = await undisturbed(each);
    const faults: readonly Fate[] = ['throttled', 'dropped', 'conflict', 'unavailable', 'lost'];
    for (let round = 0; round < rounds({ full: faults.length, sample: 1 }); round += 1) {
      let call = round;
      const fateOf = (): Fate => ((call += 1) % 3 === 0 ? 'passed' : faults[call % faults.length]!);
      expect(await attack(each, fateOf, keys)).toMatchObject({ exitCode: 0 });
    }
  });
});

test.each([create, repair])(
  '$command announces an API Gateway key that it cannot look up after a lost answer',
  async (each) => {
    const { keys } = await undisturbed(each);
    let isLost = false;
    const { exitCode } = await attack(
      each,
      (operation) => {
        if (isLost) return operation === 'GET /apikeys' ? 'throttled' : 'passed';
        isLost = operation === 'POST /apikeys';
        return isLost ? 'lost' : 'passed';
      },
      keys,
    );
    expect(exitCode).toBe(1);
  },
);

test.each([['rotate', '--overlap', '0s'], ['revoke']])(
  '%s ends a key at once, although API Gateway refuses to delete its own',
  async (command, ...options) => {
    const { key, keyId } = await account.create(newOwner());
    // The authorizer caches it.
    expect(await account.call(key)).toBe(200);
    const fateOf = (operation: string): Fate =>
      operation.startsWith('DELETE /apikeys/') ? 'throttled' : 'passed';
    const run = await account.overNetwork([command, keyId, ...options], fateOf);
    expect(run).toMatchObject({ exitCode: 0 });
    expect(run.stderr).toContain(`The API Gateway key of ${keyId} is left over.`);
    expect(await account.call(key)).toBe(401);
  },
);

test('a key that API Gateway does not find at first is added to its usage plan later', async () => {
  const { keys } = await undisturbed(create);
  let misses = 3;
  const fateOf = (operation: string): Fate =>
    operation.startsWith('POST /usageplans/') && (misses -= 1) >= 0 ? 'not found' : 'passed';
  expect(await attack(create, fateOf, keys)).toMatchObject({ exitCode: 0 });
});

describe('a failure in the tool', () => {
  const fail = (failing: string) => (step: string) => {
    if (step === failing) throw new Error('Something broke');
  };

  test.each([
    [create, 'CreateUsagePlanKey'],
    [create, 'reveal'],
    [cases[1]!, 'reveal'],
  ])('in $command leaves nothing behind, and an old key as it was', async (each, step) => {
    const { owner, args, shown } = await prepared(each);
    const before = await account.stateOf(owner);
    const run = await account.keysLocal(args, { afterStep: fail(step) });
    expect(run).toMatchObject({ exitCode: 1, stderr: expect.stringMatching(/Something broke\n$/) });
    expect(await account.stateOf(owner)).toEqual(before);
    await account.expectConsistent(await account.openLocal(), owner, [...shown, ...keysIn(run.stdout)]);
  });

  test('that makes a creation take longer than cleanup waits: the key never becomes valid', async () => {
    const { owner, args } = await prepared(create);
    let minutes = 0;
    const run = await account.keysLocal(args, {
      clock: () => Date.now() + minutes * 60_000,
      afterStep: () => void (minutes = 11),
    });
    expect(run).toMatchObject({ exitCode: 1, stdout: '' });
    expect(run.stderr).toContain('Run the command again');
    expect(await account.stateOf(owner)).toEqual({ keys: [], orphans: [] });
  });
});
