import { expect, test } from 'vitest';
import {
  checkBootstrap,
  checkBudget,
  checkCaller,
  checkCertificate,
  checkConcurrency,
  checkLoggingRole,
  checkStack,
  checkThrottle,
  checkVersion,
  deploymentsOf,
  isNew,
} from '../../../tools/operators/deploy/preconditions.ts';
import type { Finding } from '../../../tools/operators/deploy/finding.ts';
import { readConfiguration } from '../../../lib/configuration/context.ts';

const settingsWith = (prod: object) =>
  readConfiguration({ stage: 'prod', stages: { prod } }).stages.get('prod')!;
const settings = settingsWith({});
const target = { stage: 'prod', stackName: 'Shelter-prod', app: undefined, settings, context: {} } as const;
const finding = (kind: Finding['kind'], text: string) => ({ kind, text: expect.stringContaining(text) });

test.each([
  [undefined, true, 'ok', 'does not exist'],
  ['REVIEW_IN_PROGRESS', true, 'warning', 'execute it first'],
  ['ROLLBACK_COMPLETE', true, 'warning', 'deletes it'],
  ['ROLLBACK_FAILED', true, 'warning', 'deletes it'],
  ['CREATE_COMPLETE', false, 'ok', 'is CREATE_COMPLETE'],
  ['UPDATE_ROLLBACK_COMPLETE', false, 'ok', 'is UPDATE_ROLLBACK_COMPLETE'],
  ['IMPORT_COMPLETE', false, 'ok', 'is IMPORT_COMPLETE'],
  ['UPDATE_IN_PROGRESS', false, 'stop', 'Wait until it has ended'],
  ['UPDATE_COMPLETE_CLEANUP_IN_PROGRESS', false, 'stop', 'Wait until it has ended'],
  ['CREATE_FAILED', false, 'stop', 'npm run cdk -- rollback Shelter-prod'],
  ['UPDATE_FAILED', false, 'stop', 'npm run cdk -- rollback Shelter-prod'],
  ['UPDATE_ROLLBACK_FAILED', false, 'stop', 'npm run cdk -- rollback Shelter-prod'],
  ['DELETE_FAILED', false, 'stop', 'npm run cdk -- destroy Shelter-prod'],
] as const)('a stack that is %s', (status, creates, kind, text) => {
  const stack = status && { status, isProtected: false };
  expect(isNew(stack)).toBe(creates);
  expect(checkStack(target, stack)).toEqual(finding(kind, text));
});

test('a protected stack that failed to be created stops the deployment', () => {
  const stack = { status: 'ROLLBACK_COMPLETE', isProtected: true };
  expect(checkStack(target, stack)).toEqual(finding('stop', 'remove-a-stage'));
});

test.each([
  [undefined, 'stop'],
  [NaN, 'stop'],
  [5, 'stop'],
  [6, 'warning'],
  [22, 'warning'],
  [23, 'ok'],
  [33, 'ok'],
] as const)('a Region that is bootstrapped with version %s', (version, kind) => {
  const found = checkBootstrap(version, { account: '111111111111', region: 'eu-central-1' });
  expect(found.kind).toBe(kind);
  if (kind !== 'ok')
    expect(found.text).toMatch(/Run: npm run cdk -- bootstrap aws:\/\/111111111111\/eu-central-1$/);
});

test('a role with which API Gateway logs is replaced only by the setting', () => {
  expect(checkLoggingRole(undefined, false)).toEqual(finding('ok', 'AnimalStore-account gives it one'));
  expect(checkLoggingRole('arn:role', false)).toEqual(finding('ok', 'which stays'));
  expect(checkLoggingRole('arn:role', true)).toEqual(finding('warning', 'replaces it'));
});

test.each([
  [10_000, 5_000, 'ok'],
  [2_500, 1_250, 'stop'],
  [10_000, 4_999, 'stop'],
  [9_999, 6_000, 'stop'],
  [20_000, 5_000, 'warning'],
] as const)(
  'an account that API Gateway permits %d requests a second and bursts of %d',
  (rate, burst, kind) => {
    const { kind: found, text } = checkThrottle({ requestsPerSecond: rate, burst }, settings);
    expect(found).toBe(kind);
    expect(text.includes(`accountThrottle to {"requestsPerSecond":${rate},"burst":${burst}}`)).toBe(
      kind !== 'ok',
    );
  },
);

test.each([
  [{ limit: 1_000, unreserved: 1_000 }, 0, true, 'ok'],
  [{ limit: 10, unreserved: 10 }, 0, true, 'warning'],
  // The alarm has to know the quota.
  [{ limit: 3_000, unreserved: 3_000 }, 0, false, 'warning'],
  [{ limit: 10, unreserved: 10 }, 1, true, 'stop'],
  [{ limit: 1_000, unreserved: 1_000 }, 900, true, 'ok'],
  [{ limit: 1_000, unreserved: 1_000 }, 901, true, 'stop'],
  [{ limit: 1_000, unreserved: 500 }, 500, true, 'stop'],
  // The stack itself has reserved them.
  [{ limit: 1_000, unreserved: 500 }, 500, false, 'ok'],
  [{ limit: 1_000, unreserved: 99 }, 0, false, 'warning'],
] as const)(
  '%o, of which the settings reserve %d, for a new stack: %s',
  (answer, reserved, creates, kind) => {
    const functions = reserved === 0 ? {} : { authorizer: { reservedConcurrency: reserved } };
    expect(checkConcurrency(answer, settingsWith({ functions }), creates).kind).toBe(kind);
  },
);

test.each([
  [undefined, undefined, 'ok', 'Account 111111111111, Region eu-west-3, as arn:ada'],
  ['111111111111', undefined, 'ok', 'Account 111111111111'],
  [
    '222222222222',
    undefined,
    'stop',
    'of account 111111111111 (arn:ada), and the stage prod belongs to account 222222222222',
  ],
  [undefined, new Error('expired'), 'stop', 'The account cannot be checked (expired)'],
] as const)('a stage of account %s, and credentials that are %o', (account, reason, kind, text) => {
  const value = { account: '111111111111', region: 'eu-west-3', arn: 'arn:ada' };
  const caller =
    reason === undefined ? { status: 'fulfilled' as const, value } : { status: 'rejected' as const, reason };
  const given = account === undefined ? settings : settingsWith({ account });
  expect(checkCaller(caller, { stage: 'prod', settings: given })).toEqual(finding(kind, text));
});

test.each([
  ['eu-west-3:111111111111', 'ok', 'of this account and Region'],
  ['eu-west-1:111111111111', 'stop', 'needs one of account 111111111111, Region eu-west-3: issue it in ACM'],
  ['eu-west-3:222222222222', 'stop', 'is of account 222222222222, Region eu-west-3.'],
])('a certificate of %s', (of, kind, text) => {
  const domain = { name: 'api.example.com', certificateArn: `arn:aws:acm:${of}:certificate/1` };
  const found = checkCertificate({ account: '111111111111', region: 'eu-west-3' }, domain);
  expect(found).toEqual(finding(kind as Finding['kind'], text));
});

test('an assembly updates a stack and creates none, so that no pipeline brings a removed stage back', () => {
  const given = { ...target, app: 'cdk.out' };
  expect(checkStack(given, undefined)).toEqual(finding('stop', 'made by hand: npm run deploy:prod'));
  expect(checkStack(given, { status: 'UPDATE_COMPLETE', isProtected: true }).kind).toBe('ok');
});

test('the first deployment of prod is without protection, then with it, and keeps the overrides that are given', () => {
  const role = ['-c', 'accountSettings=managed'];
  expect(deploymentsOf(target, { creates: false, needsRole: false })).toEqual([[]]);
  expect(deploymentsOf(target, { creates: false, needsRole: true })).toEqual([role]);
  const context = { overrides: '{"prod":{"logLevel":"DEBUG"}}' };
  const first = 'overrides={"prod":{"logLevel":"DEBUG","deletionProtection":false}}';
  expect(deploymentsOf({ ...target, context }, { creates: true, needsRole: true })).toEqual([
    [...role, '-c', first],
    role,
  ]);
  const unprotected = { ...target, settings: settingsWith({ deletionProtection: false }) };
  expect(deploymentsOf(unprotected, { creates: true, needsRole: false })).toEqual([[]]);
});

test('a Region in which CloudFormation has no budgets stops the deployment of one', () => {
  expect(checkBudget(true).kind).toBe('ok');
  expect(checkBudget(false)).toEqual(finding('stop', 'Remove monthlyBudget from cdk.json'));
});

test.each([
  ['same', 'ok', 'Live in prod: 0123'],
  ['newer', 'ok', 'Live in prod: 0123'],
  ['older', 'stop', 'To go back, use: npm run roll-back:prod -- 456789'],
  ['apart', 'warning', 'lacks commits of it'],
  ['unknown', 'warning', 'cannot compare it'],
] as const)('a version that is %s', (age, kind, text) => {
  expect(checkVersion(target, '4567890', '0123', age)).toEqual(finding(kind, text));
  expect(checkVersion(target, '4567890', undefined, age).kind).toBe('ok');
});
