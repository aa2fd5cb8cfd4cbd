import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, inject, it } from 'vitest';
import { toCallerContext } from '../../../functions/access/caller.ts';
import { fixedPlans } from '../../../functions/access/plans.ts';
import { ApiKeyStore, usagePlansOf } from '../../../tools/contributors/local/api-keys.ts';
import type { Invoke } from '../../../tools/contributors/local/functions.ts';
import { Gateway } from '../../../tools/contributors/local/gateway.ts';
import type { HttpResponse } from '../../../tools/contributors/local/http.ts';
import { localStackName } from '../../../tools/contributors/local/stack.ts';
import { Stack } from '../../../tools/contributors/local/template.ts';
import { usagePlanSettings } from '../../../lib/api/usage-plan-settings.ts';
import { presets } from '../../../lib/configuration/stages.ts';
import { AnswerValidator } from '../../support/openapi-validator.ts';
import { isLocal } from './support.ts';

const now = Date.now();
const seconds = Math.floor(now / 1000);
const free = fixedPlans.free;
const caller = { keyHash: 'a'.repeat(64), keyId: 'key_1', plan: 'free', limits: free, expiresAt: 0 };
const context = toCallerContext(caller, seconds, 60);
const { burstLimit, quota = 0 } = usagePlanSettings('free', presets.local.accountThrottle);

/** The gateway of the template, with a Free key and a function of the operation that answers like this. */
function gatewayWith(operation: Awaited<ReturnType<Invoke>>): Gateway {
  const { assembly } = inject('local')!;
  const file = join(assembly, `${localStackName}.template.json`);
  const stack = new Stack(localStackName, assembly, JSON.parse(readFileSync(file, 'utf8')));
  const keys = new ApiKeyStore();
  keys.plans = usagePlansOf(stack);
  const { id, value } = keys.create({ value: caller.keyHash, enabled: true }, now);
  keys.bind(stack.outputs['UsagePlanIdFree']!, id);
  const Statement = [{ Effect: 'Allow', Action: 'execute-api:Invoke', Resource: '*' }];
  const admitted = {
    principalId: caller.keyId,
    usageIdentifierKey: value,
    policyDocument: { Version: '2012-10-17', Statement },
    context,
  };
  const invoke: Invoke = async (functionArn) =>
    functionArn.includes('Authorizer') ? { ok: true, payload: JSON.stringify(admitted) } : operation;
  return new Gateway({ stack, keys, invoke });
}

/** @param time milliseconds since the Unix epoch */
const request = (time: number) => ({
  method: 'GET',
  url: '/v1/pets',
  rawHeaders: ['Authorization', `Bearer as_local_${'a'.repeat(36)}`],
  body: Buffer.alloc(0),
  time,
});

const served = { ok: true, payload: JSON.stringify({ statusCode: 200, body: '[]' }) } as const;

/** The headers of an answer, which is as docs/openapi.yaml describes it. */
function limitsOf({ status, headers, body }: HttpResponse) {
  const all = new Headers(headers.map(([name, value]) => [name, value] as [string, string]));
  const seen = { method: 'GET', path: '/pets', status, headers: all, text: String(body) };
  expect(new AnswerValidator().violations(seen)).toEqual([]);
  const of = (name: string) => all.get(`X-RateLimit-${name}`);
  return { status, limit: of('Limit'), remaining: of('Remaining'), reset: of('Reset') };
}

/** @param limit of the window, and when it resets */
const shown = (status: number, limit: number, reset: unknown) => ({
  status,
  limit: String(limit),
  remaining: '0',
  reset: String(reset),
});

describe.runIf(isLocal)("API Gateway's own response shows the limit of the key", () => {
  it('if the usage plan throttles it', async () => {
    const gateway = gatewayWith(served);
    for (let sent = 0; sent < burstLimit; sent += 1)
      expect((await gateway.handle(request(now))).status).toBe(200);
    const { throttleReset } = context;
    expect(limitsOf(await gateway.handle(request(now)))).toEqual(shown(429, free.perMinute, throttleReset));
  });

  it('if the quota of the usage plan is used up', async () => {
    const gateway = gatewayWith(served);
    // All requests are within one day of UTC, and slow enough for the throttle.
    const midnight = Math.floor(now / 86_400_000) * 86_400_000;
    for (let sent = 0; sent < quota; sent += 1)
      expect((await gateway.handle(request(midnight + sent * 1000))).status).toBe(200);
    const last = await gateway.handle(request(midnight + quota * 1000));
    expect(limitsOf(last)).toEqual(shown(429, free.perDay, context['dayReset']));
  });

  it('if the function of the operation fails', async () => {
    const failing = { ok: false, errorType: 'Error', errorMessage: 'no' } as const;
    const answer = await gatewayWith(failing).handle(request(now));
    expect(limitsOf(answer)).toEqual(shown(503, free.perMinute, context['throttleReset']));
  });
});

it.runIf(isLocal)('a response that comes before the authorizer lacks the limit and its reset', () => {
  const answer = gatewayWith(served).shed(request(now));
  expect(limitsOf(answer)).toEqual({ status: 503, limit: null, remaining: '0', reset: null });
});
