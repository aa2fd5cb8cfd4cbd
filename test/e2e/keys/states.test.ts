import { UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { describe, expect, inject, test } from 'vitest';
import { hashOfKey } from '../../../functions/access/keys.ts';
import { suspensionGrace, suspensionThreshold } from '../../../functions/access/limiter-decisions.ts';
import { admit } from '../../../functions/access/limiter.ts';
import { windowStart } from '../../../functions/access/windows.ts';
import { at } from '../../support/times.ts';
import { isLocal, sameDay } from '../support.ts';
import { create, type Issued, keysIn, keysJson, keysLocal, newOwner, openLocal } from './support.ts';

/** Each command that changes a key, on a key in each state: what it says is what the key then answers. */

/** Makes the limiter suspend a key, as it does when a client goes on after 429. Its windows do not stay full. */
async function flood({ key }: Issued): Promise<void> {
  const { limitTable } = await openLocal();
  const keyHash = hashOfKey(key);
  const minute = windowStart(Math.floor(Date.now() / 1000), 60);
  const limits = { perMinute: 1, perDay: 1_000 };
  const ask = (seconds: number) => admit(limitTable, { keyHash, limits, now: at(minute + seconds) });
  for (let requests = 0; requests < 2; requests += 1) await ask(0);
  const threshold = suspensionThreshold(minute, limits);
  const fields = {
    UpdateExpression: 'ADD rejections :count',
    ExpressionAttributeValues: { ':count': threshold - 1 },
  };
  await limitTable.client.send(
    new UpdateCommand({ TableName: limitTable.tableName, Key: { keyHash }, ...fields }),
  );
  await ask(suspensionGrace);
}

/** Gives a key one request a day, and uses it. */
async function useUp({ key, keyId }: Issued): Promise<void> {
  await sameDay(60);
  const limits = ['--per-minute', '1', '--per-day', '1'];
  await keysJson(['change-plan', keyId, '--plan', 'enterprise', ...limits]);
  expect(await answerTo(key)).toBe('200');
}

const twoHoursAgo = { clock: () => Date.now() - 2 * 3_600_000 };

/** How a key gets into a state, and what it answers then. */
const states = {
  active: [async () => {}, '200'],
  'suspended for an hour': [({ keyId }) => keysJson(['suspend', keyId, '--for', '1h']), 'key_suspended'],
  'suspended for good': [({ keyId }) => keysJson(['suspend', keyId]), 'key_suspended'],
  'suspended by the limiter': [flood, 'key_suspended'],
  'out of requests': [useUp, 'rate_limit_exceeded'],
  'within its rotation': [({ keyId }) => keysJson(['rotate', keyId, '--overlap', '1h']), '200'],
  expired: [({ keyId }) => keysJson(['rotate', keyId, '--overlap', '1h'], twoHoursAgo), 'unauthorized'],
  revoked: [({ keyId }) => keysJson(['revoke', keyId]), 'unauthorized'],
} as const satisfies Readonly<Record<string, readonly [(issued: Issued) => Promise<unknown>, Answer]>>;
type State = keyof typeof states;
type Answer = '200' | 'key_suspended' | 'rate_limit_exceeded' | 'unauthorized';

/** What a command says, what the key then answers, and the key in its place. */
type Outcome = readonly [said: RegExp, answer: Answer, next?: Answer];

const isRefused = (state: State): Outcome => [
  new RegExp(`^key_\\w+ is ${state}, so it cannot be `),
  'unauthorized',
];
const ofEnded = { expired: isRefused('expired'), revoked: isRefused('revoked') };
const time = String.raw`20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ`;
/** @param end of the suspension */
const replacedWhile = (end: string): Outcome => [
  new RegExp(
    String.raw`The old one is valid until ${time}\. It is suspended until ${end}, so its requests get 429\.`,
  ),
  'key_suspended',
  '200',
];
const replacedAtOnce: Outcome = [/^The old one is not valid any more\.$/m, 'unauthorized', '200'];
const isReplaced: Outcome = [/was replaced by key_\w+\. Rotate that one\./, '200'];
/** @param end of the suspension that stays */
const staysSuspended = (end: string): Outcome => [
  new RegExp(String.raw`is suspended until ${end}, which is longer\. .*--shorten`),
  'key_suspended',
];
/** @param end of the new suspension @param earlier of the one that it replaces */
const suspended = (end: string, earlier?: string): Outcome => [
  new RegExp(
    String.raw`is suspended until ${end}${earlier === undefined ? '' : `, before that until ${earlier}`}\.\n$`,
  ),
  'key_suspended',
];
const resumed = (end: string): Outcome => [
  new RegExp(String.raw`is resumed, before that suspended until ${end}\.\n$`),
  '200',
];
const isNotSuspended: Outcome = [/is not suspended\.\n$/, '200'];
const moved: Outcome = [/is on the pro plan\.\n$/, '200'];
const movedWhile = (end: string): Outcome => [
  new RegExp(String.raw`is on the pro plan\. It is suspended until ${end}, so its requests get 429\.\n$`),
  'key_suspended',
];
const revoked: Outcome = [/^key_\w+ is revoked\.$/m, 'unauthorized'];
const good = 'it is resumed';
const outOfRequests = String.raw`It has used its limit of the day, so its requests get 429 until ${time}`;

const commands: Readonly<Record<string, Readonly<Record<State, Outcome>>>> = {
  'rotate --overlap 1h': {
    active: [new RegExp(String.raw`^The old one is valid until ${time}\.$`, 'm'), '200', '200'],
    'suspended for an hour': replacedWhile(time),
    'suspended for good': replacedWhile(good),
    'suspended by the limiter': replacedWhile(time),
    'out of requests': [
      new RegExp(String.raw`The old one is valid until ${time}\. ${outOfRequests}\.`),
      'rate_limit_exceeded',
      '200',
    ],
    'within its rotation': isReplaced,
    ...ofEnded,
  },
  'rotate --overlap 0s': {
    active: replacedAtOnce,
    'suspended for an hour': replacedAtOnce,
    'suspended for good': replacedAtOnce,
    'suspended by the limiter': replacedAtOnce,
    'out of requests': replacedAtOnce,
    'within its rotation': isReplaced,
    ...ofEnded,
  },
  suspend: {
    active: suspended(good),
    'suspended for an hour': suspended(good, time),
    'suspended for good': [/is suspended until it is resumed already\.\n$/, 'key_suspended'],
    'suspended by the limiter': suspended(good, time),
    'out of requests': suspended(good),
    'within its rotation': suspended(good),
    ...ofEnded,
  },
  'suspend --for 2h': {
    active: suspended(time),
    'suspended for an hour': suspended(time, time),
    'suspended for good': staysSuspended(good),
    'suspended by the limiter': suspended(time, time),
    'out of requests': suspended(time),
    'within its rotation': suspended(time),
    ...ofEnded,
  },
  'suspend --for 5m': {
    active: suspended(time),
    'suspended for an hour': staysSuspended(time),
    'suspended for good': staysSuspended(good),
    'suspended by the limiter': staysSuspended(time),
    'out of requests': suspended(time),
    'within its rotation': suspended(time),
    ...ofEnded,
  },
  'suspend --for 5m --shorten': {
    active: suspended(time),
    'suspended for an hour': suspended(time, time),
    'suspended for good': suspended(time, good),
    'suspended by the limiter': suspended(time, time),
    'out of requests': suspended(time),
    'within its rotation': suspended(time),
    ...ofEnded,
  },
  resume: {
    active: isNotSuspended,
    'suspended for an hour': resumed(time),
    'suspended for good': resumed(good),
    'suspended by the limiter': resumed(time),
    'out of requests': [new RegExp(`is not suspended\\. ${outOfRequests}\\.\n$`), 'rate_limit_exceeded'],
    'within its rotation': isNotSuspended,
    ...ofEnded,
  },
  'change-plan --plan pro': {
    active: moved,
    'suspended for an hour': movedWhile(time),
    'suspended for good': movedWhile(good),
    'suspended by the limiter': movedWhile(time),
    'out of requests': moved,
    'within its rotation': moved,
    ...ofEnded,
  },
  revoke: {
    active: revoked,
    'suspended for an hour': revoked,
    'suspended for good': revoked,
    'suspended by the limiter': revoked,
    'out of requests': revoked,
    'within its rotation': revoked,
    expired: revoked,
    revoked: [/was revoked before\.\n$/, 'unauthorized'],
  },
};

/** The status of the answer to a request with a key, or the code of its error. */
async function answerTo(key = ''): Promise<string> {
  const response = await fetch(`${inject('e2e').url}/pets?limit=1`, {
    headers: { Authorization: `Bearer ${key}` },
  });
  if (response.ok) return String(response.status);
  return ((await response.json()) as { code: string }).code;
}

interface Shown {
  readonly status: string;
  readonly suspendedUntil: string | null;
  readonly audit: readonly unknown[];
}

describe.runIf(isLocal).each(Object.entries(commands))('%s', (command, outcomes) => {
  test.each(Object.entries(states))(
    'of a key that is %s says what it then answers',
    async (state, [enter, before]) => {
      const issued = await create(newOwner());
      await enter(issued);
      expect(await answerTo(issued.key)).toBe(before);
      const show = async () => {
        const { status, suspendedUntil, audit } = await keysJson<Shown>(['show', issued.keyId]);
        return { status, suspendedUntil, audit };
      };
      const shownBefore = await show();
      const [name = '', ...options] = command.split(' ');
      const run = await keysLocal([name, issued.keyId, ...options]);
      const [said, answer, next] = outcomes[state as State];
      expect(run.stderr + run.stdout).toMatch(said);
      expect(await answerTo(issued.key)).toBe(answer);
      expect(keysIn(run.stdout)).toHaveLength(next === undefined ? 0 : 1);
      if (next !== undefined) expect(await answerTo(keysIn(run.stdout)[0])).toBe(next);
      // A command that is refused changes nothing.
      if (run.exitCode === 4) expect(await show()).toEqual(shownBefore);
      else expect(run).toMatchObject({ exitCode: 0 });
    },
  );
});
