import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Stack } from './template.ts';

/**
 * API Gateway's keys and usage plans, for the gateway, and for the tests of the key tool. All plans are for the one stage of the
 * template. Times are in milliseconds since the Unix epoch.
 */

/** A token bucket: when full it admits `burst` requests at once, then `rate` requests a second. */
export interface Throttle {
  readonly rate: number;
  readonly burst: number;
}
interface Bucket {
  readonly tokens: number;
  readonly updatedAt: number;
}

export function fullBucket({ burst }: Throttle, now: number): Bucket {
  return { tokens: burst, updatedAt: now };
}

/**
 * Takes one token, if there is one. A clock that runs backwards changes nothing.
 *
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-request-throttling.html
 */
export function takeToken(
  { rate, burst }: Throttle,
  bucket: Bucket,
  now: number,
): { readonly admitted: boolean; readonly bucket: Bucket } {
  const elapsed = Math.max(0, now - bucket.updatedAt) / 1000;
  const tokens = Math.min(burst, bucket.tokens + elapsed * rate);
  const updatedAt = Math.max(now, bucket.updatedAt);
  // Sums of fractions are inexact: a token that is whole except for rounding counts.
  const admitted = tokens >= 1 - 1e-9;
  return { admitted, bucket: { tokens: admitted ? Math.max(0, tokens - 1) : tokens, updatedAt } };
}

/** A day in UTC as `YYYY-MM-DD`. */
export function utcDay(now: number): string {
  return new Date(now).toISOString().slice(0, 10);
}

/**
 * Requests remaining before a request at `now` is counted.
 *
 * @param use requests admitted by day
 */
export function quotaRemaining(
  { limit }: { readonly limit: number },
  use: ReadonlyMap<string, number>,
  now: number,
): number {
  return Math.max(0, limit - (use.get(utcDay(now)) ?? 0));
}

const apiKey = z.object({
  id: z.string(),
  value: z.string(),
  name: z.string().optional(),
  description: z.string().optional(),
  enabled: z.boolean(),
  createdAt: z.number(),
});
export type ApiKey = Readonly<z.infer<typeof apiKey>>;

export interface UsagePlan {
  readonly id: string;
  readonly name: string;
  readonly throttle: Throttle | undefined;
  /** Of a day in UTC. */
  readonly quota: { readonly limit: number } | undefined;
}

export function usagePlansOf(stack: Stack): UsagePlan[] {
  return stack.resources('AWS::ApiGateway::UsagePlan').map(({ id, properties }) => {
    const { UsagePlanName: name, Throttle: throttle, Quota: quota } = properties;
    return {
      id,
      name,
      throttle: throttle && { rate: throttle.RateLimit, burst: throttle.BurstLimit },
      quota: quota && { limit: quota.Limit },
    };
  });
}

/** What is kept between runs: the keys, with their requests by plan and day. */
export const apiKeySnapshot = z.object({
  keys: z.array(apiKey.extend({ plans: z.record(z.string(), z.record(z.string(), z.number())).default({}) })),
});
export type ApiKeySnapshot = z.infer<typeof apiKeySnapshot>;

/** A key, and what it has used of each plan that it is in. */
interface Entry {
  readonly key: ApiKey;
  readonly plans: Map<string, { readonly use: Map<string, number>; bucket?: Bucket }>;
}

export class ApiKeyStore {
  /** Set again when the template changes. A key whose plan is no longer there stays, and is not let in. */
  plans: readonly UsagePlan[] = [];
  /** By the ID of the key. */
  readonly #entries = new Map<string, Entry>();

  /** @param snapshot of an earlier run. Buckets are full again within minutes */
  constructor({ keys }: ApiKeySnapshot = { keys: [] }) {
    for (const { plans, ...key } of keys) {
      const used = Object.entries(plans).map(
        ([planId, use]) => [planId, { use: new Map(Object.entries(use)) }] as const,
      );
      this.#entries.set(key.id, { key, plans: new Map(used) });
    }
  }

  snapshot(): ApiKeySnapshot {
    const keys = [...this.#entries.values()].map(({ key, plans }) => {
      const used = [...plans].map(([planId, { use }]) => [planId, Object.fromEntries(use)] as const);
      return { ...key, plans: Object.fromEntries(used) };
    });
    return { keys };
  }

  keys(): ApiKey[] {
    return [...this.#entries.values()].map(({ key }) => key);
  }

  create(
    given: Partial<Pick<ApiKey, 'id' | 'value' | 'name' | 'description' | 'enabled'>>,
    now: number,
  ): ApiKey {
    const generated = { id: randomBytes(5).toString('hex'), value: randomBytes(20).toString('hex') };
    const key = { ...generated, enabled: false, ...given, createdAt: now };
    this.#entries.set(key.id, { key, plans: new Map() });
    return key;
  }

  delete(id: string): void {
    this.#entries.delete(id);
  }

  bind(planId: string, keyId: string): void {
    this.#entries.get(keyId)?.plans.set(planId, { use: new Map() });
  }

  unbind(planId: string, keyId: string): void {
    this.#entries.get(keyId)?.plans.delete(planId);
  }

  keysOfPlan(planId: string): ApiKey[] {
    return this.keys().filter(({ id }) => this.plansOfKey(id).some((plan) => plan.id === planId));
  }

  plansOfKey(keyId: string): UsagePlan[] {
    return this.plans.filter(({ id }) => this.#entries.get(keyId)?.plans.has(id));
  }

  /** Requests of the day of `at`. */
  usage({ id, quota }: UsagePlan, keyId: string, at: number): readonly [used: number, remaining: number] {
    const use = this.#entries.get(keyId)?.plans.get(id)?.use ?? new Map<string, number>();
    const remaining = quota === undefined ? Number.MAX_SAFE_INTEGER : quotaRemaining(quota, use, at);
    return [use.get(utcDay(at)) ?? 0, remaining];
  }

  /**
   * Checks the bucket of the key's plan, then its quota. Only an admitted request counts towards the quota.
   *
   * @returns the key if it is let in
   */
  meter(value: string | undefined, now: number): ApiKey | 'invalidApiKey' | 'throttled' | 'quotaExceeded' {
    const { key, plans } = [...this.#entries.values()].find((each) => each.key.value === value) ?? {};
    const plan = this.plans.find(({ id }) => plans?.has(id));
    const used = plans?.get(plan?.id ?? '');
    if (key?.enabled !== true || plan === undefined || used === undefined) return 'invalidApiKey';
    const { throttle, quota } = plan;
    if (throttle !== undefined) {
      const taken = takeToken(throttle, used.bucket ?? fullBucket(throttle, now), now);
      used.bucket = taken.bucket;
      if (!taken.admitted) return 'throttled';
    }
    if (quota !== undefined && quotaRemaining(quota, used.use, now) < 1) return 'quotaExceeded';
    const day = utcDay(now);
    used.use.set(day, (used.use.get(day) ?? 0) + 1);
    return key;
  }
}
