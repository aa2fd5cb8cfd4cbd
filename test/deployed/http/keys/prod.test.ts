import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { DeleteUsagePlanKeyCommand } from '@aws-sdk/client-api-gateway';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test, vi } from 'vitest';
import { stageOfKey } from '../../../../functions/access/keys.ts';
import { findKeyById } from '../../../../tools/operators/keys/records.ts';
import { openKeyService } from '../../../../tools/operators/keys/service.ts';
import { keys } from '../../../unit/keys/support.ts';
import type { RunOptions } from '../../../support/run-in-process.ts';
import { isFullRun, isLocal } from '../support.ts';
import { type Forwarder, forwardTo } from '../../../support/forwarder.ts';
import type { Issued } from './support.ts';

/**
 * The tool against AWS: with the endpoints, credentials and Region that the SDK finds in the environment. Behind
 * them is the service on this machine, under the name that the stack has in production.
 */

let account: Forwarder | undefined;
/** Calls that change something, such as `POST /apikeys`. */
let onChange: (call: string) => void = () => {};

beforeAll(async () => {
  const local = inject('local');
  if (local === undefined) return;
  const rewrite = (body: string) => body.replace('AnimalStore-prod', 'AnimalStore-local');
  const answer = ({ method, url, headers }: IncomingMessage) => {
    const operation = String(headers['x-amz-target'] ?? '').split('.')[1];
    if (operation === 'TransactWriteItems') onChange(operation);
    // Of API Gateway.
    if (method !== 'GET' && url !== '/') onChange(`${method} ${url}`);
    return false;
  };
  account = await forwardTo(local.endpoint, { rewrite, answer });
});
afterAll(() => account?.close());

beforeEach(() => {
  if (account === undefined) return;
  vi.stubEnv('AWS_ENDPOINT_URL', account.endpoint);
  vi.stubEnv('AWS_REGION', 'eu-central-1');
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'AKIDEXAMPLE');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret');
  vi.stubEnv('AWS_SESSION_TOKEN', inject('local')?.credentials.sessionToken);
});
afterEach(() => {
  vi.unstubAllEnvs();
  onChange = () => {};
});

const inProd = (args: readonly string[], options: RunOptions = {}) =>
  keys([...args, '--stage', 'prod'], options);

async function create(): Promise<Issued & { readonly owner: string }> {
  const run = await inProd(['create', '--owner', `owner ${randomUUID()}`, '--plan', 'free', '--json']);
  expect(run).toMatchObject({ exitCode: 0 });
  return JSON.parse(run.stdout);
}

async function show(
  keyId: string,
): Promise<{ status: string; plan: string; audit: { by: string; did: string }[] }> {
  return JSON.parse((await inProd(['show', keyId, '--json'])).stdout);
}

const destructive: readonly (readonly [command: string, ...options: string[]])[] = [
  ['revoke'],
  ['suspend', '--for', '1h'],
  ['rotate', '--overlap', '1h'],
  ['change-plan', '--plan', 'pro'],
];

describe.runIf(isLocal)('in prod', () => {
  test('create asks nothing, the key names the stage, and its audit trail the ARN of who made it', async () => {
    const { key, keyId } = await create();
    expect(stageOfKey(key)).toBe('prod');
    expect((await show(keyId)).audit).toEqual([
      expect.objectContaining({ did: 'created', by: expect.stringMatching(/^arn:aws:iam::\d{12}:user\//) }),
    ]);
  });

  test.each(destructive)('%s changes nothing until someone confirms it', async (command, ...options) => {
    const { keyId } = await create();
    const args = [command, keyId, ...options];
    const unattended = await inProd(args);
    expect(unattended).toMatchObject({ exitCode: 4, stdout: '' });
    expect(unattended.stderr).toBe('This change must be confirmed. Run it in a terminal, or with --yes.\n');
    for (const input of isFullRun || command === 'revoke' ? ['n\n', '\n', 'yeah, no\n'] : ['n\n']) {
      const run = await inProd(args, { interactive: true, input });
      expect(run).toMatchObject({ exitCode: 4, stdout: '' });
      expect(run.stderr).toMatch(new RegExp(`${keyId} .*owner .*\\? .*\\[y/N\\] .*Nothing was changed`));
    }
    expect(await show(keyId)).toMatchObject({ status: 'active', plan: 'free', audit: [{ did: 'created' }] });
    expect(await inProd(args, { interactive: true, input: 'y\n' })).toMatchObject({ exitCode: 0 });
    expect((await show(keyId)).audit).toHaveLength(2);
  });
});

test.runIf(isLocal)('the question says what a suspension replaces', async () => {
  const { keyId } = await create();
  await inProd(['suspend', keyId, '--yes']);
  const args = ['suspend', keyId, '--for', '1h', '--shorten'];
  const { stderr: shorter } = await inProd(args, { interactive: true, input: 'n\n' });
  expect(shorter).toMatch(/until 20\S+Z, before that indefinitely\? \[y\/N\]/);
});

test.runIf(isLocal)(
  'change-plan on AWS waits before it switches to the new usage plan, and before it deletes the old key',
  async () => {
    const { keyId } = await create();
    const events: string[] = [];
    onChange = (call) => void events.push(call);
    const run = await inProd(['change-plan', keyId, '--plan', 'pro', '--yes'], {
      sleep: async (milliseconds) => void events.push(`${milliseconds} ms`),
    });
    expect(run.stderr).toContain('Waiting 30 s for API Gateway to apply the change.');
    expect(events).toEqual([
      expect.stringMatching(/^POST \/apikeys(\?|$)/),
      expect.stringMatching(/^POST \/usageplans\/\w+\/keys$/),
      '30000 ms',
      'TransactWriteItems',
      expect.stringMatching(/^DELETE \/restapis\/\w+\/stages\/v1\/cache\/authorizers$/),
      '30000 ms',
      expect.stringMatching(/^DELETE \/apikeys\/\w+$/),
    ]);
  },
);

test.runIf(isLocal)(
  'repair in prod says how many keys it repairs, and changes nothing without a yes',
  async () => {
    const { keyId, owner } = await create();
    const service = await openKeyService({ stage: 'prod' });
    const key = await findKeyById(service, keyId);
    const place = { usagePlanId: service.usagePlanIds.free, keyId: key?.gatewayKeyId };
    await service.apiGateway.send(new DeleteUsagePlanKeyCommand(place));
    const repair = (options: RunOptions = {}, ...args: string[]) =>
      inProd(['repair', '--owner', owner, ...args], options);

    expect((await repair({}, '--dry-run')).stdout).toContain('Valid keys: 1. To repair: 1.');
    expect(await repair()).toMatchObject({ exitCode: 4, stdout: '' });
    const refused = await repair({ interactive: true, input: 'n\n' });
    expect(refused).toMatchObject({ exitCode: 4, stdout: '' });
    expect(refused.stderr).toContain('prod: Repair 1 of 1 valid key? [y/N] Nothing was changed.');
    expect((await show(keyId)).audit).toHaveLength(1);
    const done = await repair({ interactive: true, input: 'y\n' });
    expect(done).toMatchObject({ exitCode: 0, stdout: 'Valid keys: 1. Repaired: 1.\n' });
    // Nothing is left to ask about.
    expect(await repair()).toMatchObject({ exitCode: 0, stdout: 'Valid keys: 1. Repaired: 0.\n' });
  },
);
