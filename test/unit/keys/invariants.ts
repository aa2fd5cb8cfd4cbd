import { expect } from 'vitest';
import { hashOfKey } from '../../../functions/access/keys.ts';
import {
  type AdministeredKey,
  describePlan,
  gatewayValueOf,
  isValid,
} from '../../../tools/operators/keys/records.ts';
import { isRead, keysIn, type Process, type World } from './world.ts';

/**
 * What holds whatever happens to commands about Ada's keys.
 *
 * At every moment (`checkNow`):
 * - No key is valid that nobody has been shown, but one of a command that was killed, that runs, or that ends with 5.
 * - Whoever was shown a valid key is let in: its API Gateway key is in the usage plan of its plan, and in no other.
 *
 * When the commands have ended (`checkEnd`):
 * - A command ends with 0 if it has done what its result says, with 1 or 4 if it has done nothing, and with 5 if it cannot know. A
 *   lost answer, or a refusal that AWS gives to calls at the same time, stops no command.
 * - A record is what the lines of its audit trail tell. Each new line was printed once, and no other.
 * - A key is printed once, on standard output, and then it is valid: a command that fails has printed none.
 * - A revoked or expired key gets 401, a suspended one 429. What the authorizer has cached ends when the key does.
 * - A command says which API Gateway keys it leaves over.
 * - Nothing of another owner has changed.
 *
 * When each command that did not end well has run again, and `cleanup` (`checkCompleted`), or a revocation alone: records and API
 * Gateway agree.
 */

/** What a command prints on standard error, line by line. */
interface Printed {
  readonly audit?: { readonly keyId: string; readonly did: string; readonly detail: string | null };
  readonly note?: string;
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

const now = () => Date.now() / 1000;
const printedBy = ({ stderr }: Process) =>
  stderr()
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Printed);
const linesOf = (process: Process) => printedBy(process).flatMap(({ audit = [] }) => audit);
const resultOf = ({ run }: Process) => JSON.parse(run!.stdout) as Result;
const isDone = ({ run }: Process) => run?.exitCode === 0;
const validIn = ({ records }: World) => records.filter((key) => isValid(key, now()));

/** The API Gateway keys of Ada that no valid key uses: the IDs of the keys that they are named after. */
export function leftOvers(world: World): string[] {
  const used = new Set(validIn(world).map(gatewayValueOf));
  const left = world.gateway
    .keys()
    .filter(({ value, description = '' }) => !used.has(value) && description.endsWith('Ada'));
  return left.map(({ name = '' }) => name);
}

/** The IDs of valid keys whose API Gateway keys are not as their records say. */
function drifted(world: World): string[] {
  const bad = validIn(world).filter((key) => {
    const found = world.gateway.keys().find(({ value }) => value === gatewayValueOf(key));
    const plans = found && world.gateway.plansOfKey(found.id).map(({ id }) => id);
    return found?.id !== key.gatewayKeyId || plans?.join() !== key.plan;
  });
  return bad.map(({ keyId }) => keyId);
}

function ofOthers({ gateway, records }: World): unknown {
  const others = gateway.keys().filter(({ description = '' }) => description.endsWith('Lovelace'));
  return [
    records.filter(({ owner }) => owner !== 'Ada'),
    others,
    others.map(({ id }) => gateway.plansOfKey(id)),
  ];
}

/** @param before the world in which the commands began */
export function checkNow(world: World, before: World): void {
  const valid = new Set(validIn(world).map(({ keyHash }) => keyHash));
  const shown = new Set(world.shown.map(hashOfKey));
  const unsure = world.processes.filter(({ run }) => run === undefined || run.exitCode === 5);
  const issuing = unsure.filter(({ args }) => /^(create|rotate)$/.test(args[0]!));
  expect(valid.difference(shown).size).toBeLessThanOrEqual(issuing.length);
  if (drifted(before).length > 0) return;
  expect(drifted(world)).toEqual([]);
  // A fault can leave the cache of the authorizer as it was.
  if (world.processes.some(({ calls }) => calls.some(([, fate]) => fate !== 'passed'))) return;
  const out = world.shown.filter((key) => valid.has(hashOfKey(key)) && world.call(key) === 401);
  expect(out).toEqual([]);
}

/** @param before the world in which the commands began */
export function checkEnd(world: World, before: World): void {
  const { processes } = world;
  for (const process of processes) checkExit(process, world, before);
  const cleanedUp = processes.flatMap(linesOf).filter(({ did }) => did === 'cleaned up');
  for (const { keyId } of cleanedUp) expect(leftOvers(world)).not.toContain(keyId);
  checkKeys(world);
  checkTrails(world, before);
  checkAnswers(world);
  expect(ofOthers(world)).toEqual(ofOthers(before));
  if (processes.some(({ run }) => run === undefined)) return;
  const said = processes.map(({ stderr }) => stderr()).join('');
  const silent = leftOvers(world).filter(
    (keyId) =>
      !leftOvers(before).includes(keyId) && !said.includes(`API Gateway key of ${keyId} is left over`),
  );
  if (!said.includes('\\"cleanup\\" deletes the API Gateway keys')) expect(silent).toEqual([]);
}

function checkExit(process: Process, world: World, before: World): void {
  const { run, args, calls } = process;
  if (run === undefined) return;
  const { exitCode } = run;
  expect(exitCodesOf(process, world)).toContain(exitCode);
  if (exitCode === 5)
    expect(printedBy(process).at(-1)?.error?.message).toMatch(/^Outcome unknown: .* Run "show key_/);
  if (exitCode === 4)
    expect(printedBy(process).at(-1)?.error?.message).toMatch(
      /changed or removed by someone else\. Look at it|so it cannot be |Rotate that one|longer\. .* --shorten/,
    );
  const lines = linesOf(process);
  // These announce a change before its second step.
  const isHalf = /^(suspend|resume|repair|cleanup)$/.test(args[0]!);
  if (exitCode === 1 || exitCode === 4) expect(isHalf ? [] : lines).toEqual([]);
  if (exitCode !== 0) return;
  const { key, changed, drifted: found = [], repaired = [], removed = [] } = resultOf(process);
  const dids = lines.map(({ did }) => did);
  if (key !== undefined) expect(dids).toContain('created');
  if (changed === true) expect(dids).toContain(done[args[0]!]);
  if (changed === false) expect(dids).toEqual([]);
  // A key that is made meanwhile is as its record says.
  const ids = before.records.map(({ keyId }) => keyId);
  expect(ids).toEqual(expect.arrayContaining(found.map(({ keyId }) => keyId)));
  // Another run can have repaired it.
  const isRepaired = ({ audit }: AdministeredKey) => audit.some(({ did }) => did === 'repaired');
  expect(world.records.filter(isRepaired).map(({ keyId }) => keyId)).toEqual(
    expect.arrayContaining([...repaired]),
  );
  expect(drifted(world).filter((keyId) => repaired.includes(keyId))).toEqual([]);
  if (world.processes.length > 1) return;
  const told = [...repaired, ...removed.map(({ keyId }) => keyId)];
  expect(lines.flatMap(({ keyId, did }) => (/^(repaired|cleaned up)$/.test(did) ? keyId : []))).toEqual(told);
  // What someone else changes meanwhile, `repair` leaves alone.
  const isOvertaken = calls.some((call) => String(call) === 'TransactWriteItems,refused');
  if (/^(repair|change-plan)$/.test(args[0]!) && !isOvertaken) expect(drifted(world)).toEqual([]);
  if (args[0] === 'cleanup') expect(leftOvers(world)).toEqual([]);
}
const done: Readonly<Record<string, string>> = {
  revoke: 'revoked',
  suspend: 'suspended',
  resume: 'resumed',
  'change-plan': 'changed plan',
};

/** What a command may end with, after the fault that it has met. */
function exitCodesOf({ args, calls }: Process, { processes }: World): readonly number[] {
  const index = calls.findIndex(([, fate]) => fate !== 'passed');
  const [operation, fate] = calls[index] ?? [];
  if (operation === undefined || fate === undefined) return processes.length > 1 ? [0, 4] : [0];
  if (processes.length > 1) return [0, 1, 4, 5];
  const deciding = /^(suspend|resume)$/.test(args[0]!) ? 'UpdateItem' : 'TransactWriteItems';
  const isDecided = args[0] !== 'repair' && calls.slice(0, index).some(([name]) => name === deciding);
  if (fate === 'last' && /^(Transact|Update)/.test(operation)) return [5];
  if (fate === 'last' || fate === 'stuck' || fate === 'denied') return [isDecided ? 0 : 1];
  if (fate === 'replaced') return [isRead(operation) ? 1 : 0];
  return [0];
}

function checkKeys({ processes, records }: World): void {
  const hashes = new Set(records.map(({ keyHash }) => keyHash));
  const printed = processes.flatMap(({ stdout }) => keysIn(stdout()));
  expect(new Set(printed).size).toBe(printed.length);
  for (const { run, stdout, stderr } of processes) {
    const keys = keysIn(stdout());
    expect(keys.length).toBeLessThan(2);
    expect(keys.filter((key) => !hashes.has(hashOfKey(key)))).toEqual([]);
    if (run !== undefined && run.exitCode !== 0) expect(keys).toEqual([]);
    expect(keysIn(stderr())).toEqual([]);
  }
}

function checkTrails({ processes, records }: World, before: World): void {
  const stored: string[] = [];
  for (const key of records) {
    const old = before.records.find(({ keyHash }) => keyHash === key.keyHash);
    const length = old?.audit.length ?? 0;
    expect(key.audit.slice(0, length)).toEqual(old?.audit ?? []);
    stored.push(...key.audit.slice(length).map(({ did, detail = null }) => String([key.keyId, did, detail])));
    const { status, replacedBy, expiresAt, replaces, owner, note } = key;
    const is = { plan: describePlan(key), status, replacedBy, expiresAt, replaces, owner, note };
    expect(is).toEqual(retold(key.audit.slice(length), old));
  }
  expect(records.length).toBeGreaterThanOrEqual(before.records.length);
  const lines = processes.flatMap(linesOf).filter(({ did }) => did !== 'cleaned up');
  const announced = lines.map(({ keyId, did, detail }) => String([keyId, did, detail]));
  const isKnown = processes.every(({ run }) => run !== undefined && run.exitCode !== 5);
  if (isKnown) expect(announced.toSorted()).toEqual(stored.toSorted());
  else expect(stored).toEqual(expect.arrayContaining(announced));
}

/** A record, as the new lines of its audit trail tell. */
function retold(lines: AdministeredKey['audit'], old: AdministeredKey | undefined) {
  const told = (did: string) => lines.findLast((line) => line.did === did)?.detail;
  const [plan, replaces] = told('created')?.split(', in place of ') ?? [];
  const [, successor, end = ''] = /^by (\w+), valid until (\S+)$/.exec(told('replaced') ?? '') ?? [];
  return {
    plan: told('changed plan')?.split(' → ')[1] ?? plan ?? describePlan(old!),
    status: lines.some(({ did }) => did === 'revoked') ? 'revoked' : (old?.status ?? 'active'),
    replacedBy: successor ?? old?.replacedBy,
    expiresAt: successor === undefined ? old?.expiresAt : Date.parse(end) / 1000,
    replaces: replaces ?? old?.replaces,
    owner: old?.owner ?? 'Ada',
    note: 'a note',
  };
}

function checkAnswers(world: World): void {
  const { processes, records, granted } = world;
  // The cache of the authorizer is not empty yet.
  const isCached = (each: Process) => !isDone(each) || each.stderr().includes('within 60 s');
  if (processes.some(isCached)) granted.clear();
  for (const key of records) {
    const cached = granted.get(key.keyHash);
    if (cached?.kind === 'granted') expect(cached.caller.expiresAt).toBe(key.expiresAt ?? 0);
    const shown = world.shown.find((each) => hashOfKey(each) === key.keyHash);
    const isSuspended = world.suspensionOf(key) > now();
    if (!isValid(key, now())) expect(shown === undefined ? 401 : world.call(shown)).toBe(401);
    else if (shown !== undefined && !drifted(world).includes(key.keyId))
      expect(world.call(shown)).toBe(isSuspended ? 429 : 200);
  }
  // It is suspended as one of the commands that succeed wants it.
  const changes = processes.filter(({ args }) => /^(suspend|resume)$/.test(args[0]!));
  const key = records.find(({ keyId }) => keyId === changes[0]?.args[1]);
  if (key === undefined || !changes.every(isDone)) return;
  const ends = changes.map((each) => Date.parse(resultOf(each).suspendedUntil ?? '1970') / 1000);
  const latest = ends.includes(0) ? ends : [Math.max(...ends)];
  expect(latest).toContain(world.suspensionOf(key));
}

export function checkCompleted(world: World): void {
  expect({ left: leftOvers(world), drifted: drifted(world) }).toEqual({ left: [], drifted: [] });
  const valid = new Set(validIn(world).map(({ keyHash }) => keyHash));
  const shown = new Set(world.shown.map(hashOfKey));
  const killed = world.processes.filter(
    ({ run, args }) => run === undefined && /^(create|rotate)$/.test(args[0]!),
  );
  // Nobody can know of the key of a creation that was killed, but `list` shows it.
  expect(valid.difference(shown).size).toBeLessThanOrEqual(killed.length);
  for (const key of world.shown) expect(world.call(key) === 401).toBe(!valid.has(hashOfKey(key)));
}
