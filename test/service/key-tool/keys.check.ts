import { expect } from 'vitest';
import { hashOfKey } from '../../../functions/access/keys.ts';
import { answer, keysIn, storedOf, usageOf } from './issued-keys.ts';
import { drifted, isValid, leftOvers, planText, retold, type Stored } from './keys.model.ts';
import type { Run } from '../commands.ts';
import type { World } from '../world.ts';

/**
 * What holds when commands about Ada's keys have ended, each well or not, or have crashed:
 *
 * - A command ends with 0 if it has done what its result says, with 1 or 4 if it has done nothing, and with 5 if it cannot know.
 * - A record is what the lines of its audit trail tell. Each new line was printed once, and no other.
 * - A key is printed once, on standard output, and then it is valid: a command that fails has printed none.
 * - Whoever was shown a valid key is let in. A revoked or expired key gets 401, a suspended one 429.
 * - A command says which API Gateway keys it leaves over.
 * - Nothing of another owner has changed.
 */

/** What a command prints on standard error, line by line. */
interface Printed {
  readonly audit?: { readonly keyId: string; readonly did: string; readonly detail: string | null };
  readonly error?: { readonly message: string };
}
interface Result {
  readonly key?: string;
  readonly changed?: boolean;
  readonly suspendedUntil?: string | null;
  readonly drifted?: readonly { readonly keyId: string }[];
  readonly repaired?: readonly string[];
  readonly removed?: readonly { readonly keyId: string }[];
}

const printedBy = ({ stderr }: Run) =>
  stderr
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Printed);
const linesOf = (run: Run) => printedBy(run).flatMap(({ audit = [] }) => audit);
const messageOf = (run: Run) => printedBy(run).at(-1)?.error?.message;
const resultOf = ({ stdout }: Run) => JSON.parse(stdout) as Result;
const isDone = ({ exitCode }: Run) => exitCode === 0;
const nameOf = ({ command }: Run) => command.split(' ')[1]!;
/** Whether a key can be valid that nobody has seen. */
const canBeUnseen = ({ exitCode }: Run) => exitCode === undefined || exitCode === 5;

/** @param before in which they began. @param shown keys that somebody has seen before */
export async function checkEnd(
  world: World,
  before: Stored,
  shown: readonly string[],
  runs: readonly Run[],
): Promise<void> {
  const after = storedOf(world);
  for (const run of runs) checkSaid(run, runs, before, after);
  checkTrails(runs, before, after);
  const all = [...shown, ...runs.flatMap(({ stdout }) => keysIn(stdout))];
  expect(new Set(all).size).toBe(all.length);
  const unseen = unseenOf(after, all);
  expect(unseen.length).toBeLessThanOrEqual(runs.filter(canBeUnseen).length);
  await checkAnswers(world, all, after, drifted(before));
  checkSuspension(world, all, after, runs);
  expect(ofOthers(after)).toEqual(ofOthers(before));
  if (runs.some(({ exitCode }) => exitCode === undefined)) return;
  const said = runs.map(({ stderr }) => stderr).join('');
  if (said.includes('\\"cleanup\\" deletes the API Gateway keys')) return;
  const left = leftOvers(after, 'Ada').filter((keyId) => !leftOvers(before, 'Ada').includes(keyId));
  expect(left.filter((keyId) => !said.includes(`API Gateway key of ${keyId} is left over`))).toEqual([]);
}

/** Checks that records and API Gateway agree when each command that did not end well has run again, and `cleanup`. */
export async function checkCompleted(
  world: World,
  shown: readonly string[],
  runs: readonly Run[],
): Promise<void> {
  const after = storedOf(world);
  expect({ left: leftOvers(after, 'Ada'), drifted: drifted(after) }).toEqual({ left: [], drifted: [] });
  const all = [...shown, ...runs.flatMap(({ stdout }) => keysIn(stdout))];
  // Nobody can know of the key of a creation that has crashed, but `list` shows it.
  const crashed = runs.filter(({ exitCode }) => exitCode === undefined);
  expect(unseenOf(after, all).length).toBeLessThanOrEqual(crashed.length);
  await checkAnswers(world, all, after, []);
}

function unseenOf({ records, now }: Stored, shown: readonly string[]): string[] {
  const hashes = new Set(shown.map(hashOfKey));
  return records.flatMap((key) => (isValid(key, now) && !hashes.has(key.keyHash) ? key.keyId : []));
}

function checkSaid(run: Run, runs: readonly Run[], before: Stored, after: Stored): void {
  const { exitCode, stdout, stderr } = run;
  const keys = keysIn(stdout);
  expect(keysIn(stderr)).toEqual([]);
  expect(keys.length).toBeLessThan(2);
  if (exitCode === undefined) return;
  if (exitCode === 5) expect(messageOf(run)).toMatch(/^Outcome unknown: .* Run "show key_/);
  if (exitCode === 4)
    expect(messageOf(run)).toMatch(
      /changed or removed by someone else\. Look at it|so it cannot be |If it has leaked, revoke it|longer\. .* --shorten/,
    );
  const lines = linesOf(run);
  // These announce a change before its second step.
  const isHalf = /^(suspend|resume|repair|cleanup)$/.test(nameOf(run));
  if (exitCode === 1 || exitCode === 4) expect([keys, isHalf ? [] : lines]).toEqual([[], []]);
  if (exitCode !== 0) return;
  const { key, changed, drifted: found = [], repaired = [], removed = [] } = resultOf(run);
  const dids = lines.map(({ did }) => did);
  if (key !== undefined) expect(dids).toContain('created');
  if (changed === true) expect(dids).toContain(done[nameOf(run)]);
  if (changed === false) expect(dids).toEqual([]);
  // A key that is made meanwhile is as its record says.
  expect(before.records.map(({ keyId }) => keyId)).toEqual(
    expect.arrayContaining(found.map(({ keyId }) => keyId)),
  );
  // Another run can have repaired it.
  const trails = after.records.filter(({ audit }) => audit.some(({ did }) => did === 'repaired'));
  expect(trails.map(({ keyId }) => keyId)).toEqual(expect.arrayContaining([...repaired]));
  expect(drifted(after).filter((keyId) => repaired.includes(keyId))).toEqual([]);
  if (runs.length > 1) return;
  const told = [...repaired, ...removed.map(({ keyId }) => keyId)];
  expect(lines.flatMap(({ keyId, did }) => (/^(repaired|cleaned up)$/.test(did) ? keyId : []))).toEqual(told);
  // What somebody else changes meanwhile, `repair` leaves alone.
  const isOvertaken = run.calls.some(({ fate, service }) => fate === 'conflict' && service === 'DynamoDB');
  if (/^(repair|change-plan)$/.test(nameOf(run)) && !isOvertaken) expect(drifted(after)).toEqual([]);
  if (nameOf(run) === 'cleanup') expect(leftOvers(after, 'Ada')).toEqual([]);
}
const done: Readonly<Record<string, string>> = {
  revoke: 'revoked',
  suspend: 'suspended',
  resume: 'resumed',
  'change-plan': 'changed plan',
};

function checkTrails(runs: readonly Run[], before: Stored, after: Stored): void {
  const stored: string[] = [];
  for (const key of after.records) {
    const old = before.records.find(({ keyId }) => keyId === key.keyId);
    const lines = key.audit.slice(old?.audit.length ?? 0);
    expect(key.audit.slice(0, -lines.length || Infinity)).toEqual(old?.audit ?? []);
    stored.push(...lines.map(({ did, detail = null }) => String([key.keyId, did, detail])));
    const { status, replacedBy, expiresAt, replaces, owner, note } = key;
    const told = { ...retold(lines, old), owner: old?.owner ?? 'Ada', note: 'a-note' };
    expect({ plan: planText(key), status, replacedBy, expiresAt, replaces, owner, note }).toEqual(told);
  }
  expect(after.records.length).toBeGreaterThanOrEqual(before.records.length);
  const lines = runs.flatMap(linesOf).filter(({ did }) => did !== 'cleaned up');
  const announced = lines.map(({ keyId, did, detail }) => String([keyId, did, detail]));
  if (!runs.some(canBeUnseen)) expect(announced.toSorted()).toEqual(stored.toSorted());
  else expect(stored).toEqual(expect.arrayContaining(announced));
}

/** @param excepted the IDs of keys that API Gateway did not have as their records say */
async function checkAnswers(
  world: World,
  shown: readonly string[],
  { records, now }: Stored,
  excepted: readonly string[],
): Promise<void> {
  for (const key of shown) {
    const record = records.find(({ keyHash }) => keyHash === hashOfKey(key))!;
    const isSuspended = (usageOf(world, key)['suspendedUntil'] ?? 0) > now;
    const wanted = isSuspended ? 'suspended' : 'admitted';
    if (!isValid(record, now)) expect(await answer(world, key)).toBe('unauthorized');
    else if (!excepted.includes(record.keyId)) expect(await answer(world, key)).toBe(wanted);
  }
}

/** The key is suspended as one of the commands wants it that succeed. */
function checkSuspension(world: World, shown: readonly string[], after: Stored, runs: readonly Run[]): void {
  const changes = runs.filter((run) => /^(suspend|resume)$/.test(nameOf(run)));
  const keyId = changes[0]?.command.split(' ')[2];
  if (keyId === undefined || !changes.every(isDone)) return;
  const { keyHash } = after.records.find((record) => record.keyId === keyId)!;
  const key = shown.find((each) => hashOfKey(each) === keyHash)!;
  const ends = changes.map((run) => Date.parse(resultOf(run).suspendedUntil ?? '1970') / 1_000);
  const latest = ends.includes(0) ? ends : [Math.max(...ends)];
  expect(latest).toContain(usageOf(world, key)['suspendedUntil']);
}

function ofOthers({ records, gatewayKeys, plansOf }: Stored): unknown {
  const others = gatewayKeys.filter(({ description }) => description?.endsWith('Lovelace'));
  return [records.filter(({ owner }) => owner !== 'Ada'), others, others.map(({ id }) => plansOf(id))];
}
