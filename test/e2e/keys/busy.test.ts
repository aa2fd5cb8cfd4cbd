import { setTimeout as sleep } from 'node:timers/promises';
import { DeleteApiKeyCommand } from '@aws-sdk/client-api-gateway';
import { afterEach, beforeAll, describe, expect, inject, test } from 'vitest';
import type { ManagementError } from 'cdk-offline';
import { FaultInjector } from '../../../packages/cdk-offline/src/management/fault-injector.ts';
import type { RunOptions } from '../../unit/keys/support.ts';
import { isFullRun, isLocal } from '../support.ts';
import { type Forwarder, forwardTo } from './forwarder.ts';
import {
  cleanUpLater,
  crash,
  create,
  expectConsistent,
  keysIn,
  keysLocal,
  newOwner,
  openLocal,
  recordsOf,
} from './support.ts';

/** The tool against an API Gateway that is busy. A server in front injects the faults, so that other tests do not get them. */

const operations: readonly (readonly [method: string, path: RegExp, operation: string])[] = [
  ['POST', /^\/apikeys$/, 'CreateApiKey'],
  ['DELETE', /^\/apikeys\/[^/]+$/, 'DeleteApiKey'],
  ['GET', /^\/apikeys$/, 'GetApiKeys'],
  ['POST', /^\/usageplans\/[^/]+\/keys$/, 'CreateUsagePlanKey'],
  ['DELETE', /^\/usageplans\/[^/]+\/keys\/[^/]+$/, 'DeleteUsagePlanKey'],
  ['DELETE', /\/cache\/authorizers$/, 'FlushStageAuthorizersCache'],
];

const faults = new FaultInjector();
let proxy: Forwarder | undefined;

beforeAll(async () => {
  const local = inject('local');
  if (local === undefined) return undefined;
  proxy = await forwardTo(local.endpoint, {
    answer: ({ method, url = '' }, outgoing) => {
      const path = url.split('?')[0] ?? '';
      const [, , operation] = operations.find((each) => each[0] === method && each[1].test(path)) ?? [];
      const failure = operation === undefined ? undefined : faults.failureOf(operation, Date.now());
      if (failure === undefined) return false;
      outgoing.writeHead(failure.status, failure.headers.flat()).end(failure.body);
      return true;
    },
  });
  return () => proxy?.close();
});
afterEach(() => faults.set({}));

const busy = (args: readonly string[], options: RunOptions = {}) =>
  keysLocal(args, { localEndpoint: proxy?.endpoint ?? '', ...options });

/** The next calls of these operations fail. */
function failNext(error: ManagementError, times: number, called: readonly string[]): void {
  faults.set({ failures: called.map((operation) => ({ operation, error, times })) });
}

interface Case {
  readonly calls: readonly string[];
  /** Returns the arguments, and every key shown so far. */
  readonly prepare: (owner: string) => Promise<{ args: string[]; revealed: string[]; late?: boolean }>;
  readonly valid: number;
}

const onKey =
  (...[command = '', ...options]: string[]) =>
  async (owner: string) => {
    const { keyId, key } = await create(owner);
    return { args: [command, keyId, ...options], revealed: [key] };
  };

const cases: Readonly<Record<string, Case>> = {
  create: {
    calls: ['CreateApiKey', 'CreateUsagePlanKey'],
    prepare: async (owner) => ({ args: ['create', '--owner', owner, '--plan', 'pro'], revealed: [] }),
    valid: 1,
  },
  rotate: {
    calls: ['CreateApiKey', 'CreateUsagePlanKey', 'FlushStageAuthorizersCache', 'DeleteApiKey'],
    prepare: onKey('rotate', '--overlap', '0s'),
    valid: 1,
  },
  revoke: { calls: ['FlushStageAuthorizersCache', 'DeleteApiKey'], prepare: onKey('revoke'), valid: 0 },
  'change-plan': {
    calls: ['CreateApiKey', 'CreateUsagePlanKey', 'FlushStageAuthorizersCache', 'DeleteApiKey'],
    prepare: onKey('change-plan', '--plan', 'business'),
    valid: 1,
  },
  repair: {
    calls: ['GetApiKeys', 'CreateApiKey', 'CreateUsagePlanKey'],
    prepare: async (owner) => {
      const { key } = await create(owner);
      const service = await openLocal();
      const [record] = await recordsOf(service, owner);
      await service.apiGateway.send(new DeleteApiKeyCommand({ apiKey: record?.gatewayKeyId }));
      return { args: ['repair', '--owner', owner], revealed: [key] };
    },
    valid: 1,
  },
  cleanup: {
    calls: ['GetApiKeys', 'DeleteApiKey'],
    prepare: async (owner) => {
      const { key, keyId } = await create(owner);
      await crash(['revoke', keyId], 1);
      return { args: ['cleanup', '--owner', owner], revealed: [key] };
    },
    valid: 0,
  },
};

/** The tool treats both equally, see test/unit/keys/retry.test.ts. */
const errors: ManagementError[] = [
  'ConcurrentModification',
  ...(isFullRun ? (['TooManyRequests'] as const) : []),
];

describe.runIf(isLocal).each(Object.entries(cases))('%s', (command, { calls, prepare, valid }) => {
  test.each(errors)(
    'succeeds although each of its calls gets %s three times, and says what it waits for',
    async (error) => {
      const owner = newOwner();
      const { args, revealed } = await prepare(owner);
      failNext(error, 3, calls);
      const run = await busy(args);
      expect(run).toMatchObject({ exitCode: 0 });
      for (const call of calls)
        expect(run.stderr).toMatch(new RegExp(`answered ${call} with .*\\(call 4\\)`));
      expect(
        await expectConsistent(await openLocal(), owner, [...revealed, ...keysIn(run.stdout)]),
      ).toHaveLength(valid);
    },
  );

  test.runIf(isFullRun || command === 'create' || command === 'change-plan')(
    'that gives up leaves nothing that cleanup and the same command do not repair',
    async () => {
      const owner = newOwner();
      const { args, revealed } = await prepare(owner);
      const last = calls.at(-1) ?? '';
      failNext('ConcurrentModification', 10, [last]);
      const run = await busy(args);
      expect(run).toMatchObject({ exitCode: 1 });
      expect(run.stderr).toContain(
        'API Gateway is busy with other changes in this account and Region, after 10 tries',
      );
      const again = await busy(args);
      await cleanUpLater(owner);
      const shown = [...revealed, ...keysIn(run.stdout), ...keysIn(again.stdout)];
      expect(await expectConsistent(await openLocal(), owner, shown)).toHaveLength(valid);
    },
  );
});

test.runIf(isLocal)(
  'a key that API Gateway does not find at first is added to its usage plan later',
  async () => {
    const owner = newOwner();
    failNext('NotFound', 3, ['CreateUsagePlanKey']);
    const run = await busy(['create', '--owner', owner, '--plan', 'free']);
    expect(run).toMatchObject({ exitCode: 0 });
    expect(await expectConsistent(await openLocal(), owner, keysIn(run.stdout))).toHaveLength(1);
  },
);

test.runIf(isLocal)(
  'commands at the same time all succeed, although API Gateway runs one call at a time',
  async () => {
    const owner = newOwner();
    const [rotated, moved, revoked] = [await create(owner), await create(owner), await create(owner)];
    // One conflict even if the commands happen not to overlap.
    const conflict = { operation: 'CreateUsagePlanKey', error: 'ConcurrentModification' } as const;
    faults.set({ exclusiveMs: 20, failures: [conflict] });
    // A twentieth of the real delays.
    const shortSleep = (milliseconds: number) => sleep(milliseconds / 20);
    const runs = await Promise.all(
      [
        ['create', '--owner', owner, '--plan', 'free'],
        ['create', '--owner', owner, '--plan', 'pro'],
        ['rotate', rotated.keyId, '--overlap', '0s'],
        ['change-plan', moved.keyId, '--plan', 'business'],
        ['revoke', revoked.keyId],
      ].map((args) => busy(args, { sleep: shortSleep })),
    );
    expect(runs.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0, 0, 0]);
    expect(runs.some(({ stderr }) => stderr.includes('ConflictException'))).toBe(true);
    const shown = [rotated, moved, revoked].map(({ key }) => key);
    const issued = runs.flatMap(({ stdout }) => keysIn(stdout));
    expect(await expectConsistent(await openLocal(), owner, [...shown, ...issued])).toHaveLength(4);
  },
);
