import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Stack } from './template.ts';

/** API Gateway's keys and usage plans, for the gateway, and for the tests of the key tool. */

/** A token bucket: when full it admits `burst` requests at once, then `rate` requests a second. */
export interface Throttle {
  readonly rate: number;
  readonly burst: number;
}
interface Bucket {
  readonly tokens: number;
  /** Milliseconds since the Unix epoch. */
  readonly updatedAt: number;
}

export function fullBucket({ burst }: Throttle, now: number): Bucket {
  return { tokens: burst, updatedAt: now };
}

/**
 * Takes one token, if there is one. A clock that runs backwards changes nothing.
 *
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-request-throttling.html
 *
 * @param now milliseconds since the Unix epoch
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

const apiKey = z
  .object({
    id: z.string(),
    value: z.string(),
    name: z.string().optional(),
    description: z.string().optional(),
    enabled: z.boolean(),
    /** Milliseconds since the Unix epoch. */
    createdAt: z.number(),
    updatedAt: z.number(),
  })
  .readonly();
export type ApiKey = z.infer<typeof apiKey>;

interface ApiStage {
  readonly apiId: string;
  readonly stage: string;
}

export interface UsagePlan {
  readonly id: string;
  readonly name: string;
  readonly throttle: Throttle | undefined;
  /** Of a day in UTC. */
  readonly quota: { readonly limit: number } | undefined;
  readonly apiStages: readonly ApiStage[];
}

export function usagePlansOf(stack: Stack): UsagePlan[] {
  return stack.resources('AWS::ApiGateway::UsagePlan').map(({ id, properties }) => {
    const { UsagePlanName: name, Throttle: throttle, Quota: quota, ApiStages } = properties;
    return {
      id,
      name,
      throttle: throttle && { rate: throttle.RateLimit, burst: throttle.BurstLimit },
      quota: quota && { limit: quota.Limit },
      apiStages: ApiStages.map(({ ApiId: apiId, Stage: stage }) => ({ apiId, stage })),
    };
  });
}

/** A key in a usage plan, and its usage there. */
interface Binding {
  bucket: Bucket | undefined;
  readonly use: Map<string, number>;
}

/** What is kept between runs. Buckets are not: they are full again within minutes. */
export const apiKeySnapshot = z.object({
  keys: z.array(apiKey),
  bindings: z.array(
    z.object({ planId: z.string(), keyId: z.string(), use: z.record(z.string(), z.number()) }),
  ),
});
export type ApiKeySnapshot = z.infer<typeof apiKeySnapshot>;

const statusOf = { BadRequestException: 400, NotFoundException: 404, ConflictException: 409 } as const;

/** An error of the management API. The name is that of the SDK's exception. */
export class ApiKeyError extends Error {
  override readonly name: keyof typeof statusOf;
  get status(): number {
    return statusOf[this.name];
  }

  constructor(name: keyof typeof statusOf, message: string) {
    super(message);
    this.name = name;
  }
}

function notFound(what: string): never {
  throw new ApiKeyError('NotFoundException', `Invalid ${what} identifier specified`);
}

/** The methods throw ApiKeyError. Times are in milliseconds since the Unix epoch. */
export class ApiKeyStore {
  #plans: ReadonlyMap<string, UsagePlan> = new Map();
  readonly #keys = new Map<string, ApiKey>();
  readonly #idsByValue = new Map<string, string>();
  /** By key, then by plan. */
  readonly #bindings = new Map<string, Map<string, Binding>>();

  /** @param snapshot of an earlier run. `setPlans` deletes its bindings to plans that do not exist */
  constructor(snapshot?: ApiKeySnapshot) {
    for (const key of snapshot?.keys ?? []) this.#add(key);
    for (const { planId, keyId, use } of snapshot?.bindings ?? []) {
      const binding = { bucket: undefined, use: new Map(Object.entries(use)) };
      if (this.#keys.has(keyId)) this.#bindingsOf(keyId).set(planId, binding);
    }
  }

  /** Replaces the plans. Bindings to removed plans are deleted; keys and usage stay. */
  setPlans(plans: readonly UsagePlan[]): void {
    this.#plans = new Map(plans.map((plan) => [plan.id, plan]));
    for (const bindings of this.#bindings.values())
      for (const [planId, binding] of bindings) {
        if (this.#plans.has(planId)) binding.bucket = undefined;
        else bindings.delete(planId);
      }
  }

  snapshot(): ApiKeySnapshot {
    const bindings = [...this.#bindings].flatMap(([keyId, plans]) =>
      [...plans].map(([planId, { use }]) => ({ planId, keyId, use: Object.fromEntries(use) })),
    );
    return { keys: this.keys(), bindings };
  }

  keys(): ApiKey[] {
    return [...this.#keys.values()];
  }

  plans(): UsagePlan[] {
    return [...this.#plans.values()];
  }

  key(id: string): ApiKey {
    return this.#keys.get(id) ?? notFound('API Key');
  }

  plan(id: string): UsagePlan {
    return this.#plans.get(id) ?? notFound('Usage Plan');
  }

  /** https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-api-usage-plans.html */
  create(
    given: Partial<Pick<ApiKey, 'id' | 'value' | 'name' | 'description' | 'enabled'>>,
    now: number,
  ): ApiKey {
    const { id = newId(), value = newValue(), name = '', enabled = false } = given;
    const invalid =
      value.length < 20
        ? 'API Key value should be at least 20 characters'
        : value.length > 128
          ? 'API Key value exceeds maximum size of 128 characters'
          : !/^[\w-]+$/.test(value)
            ? 'Invalid API Key value specified'
            : name.length > 1_024 && 'Invalid API Key name, can be at most 1024 characters.';
    if (invalid !== false) throw new ApiKeyError('BadRequestException', invalid);
    if (this.#idsByValue.has(value)) throw new ApiKeyError('ConflictException', 'API Key already exists');
    const key = { ...given, id, value, enabled, createdAt: now, updatedAt: now };
    this.#add(key);
    return key;
  }

  update(id: string, changes: Partial<Pick<ApiKey, 'enabled'>>, now: number): void {
    this.#keys.set(id, { ...this.key(id), ...changes, updatedAt: now });
  }

  /** Deletes the key and its bindings. */
  delete(id: string): void {
    const { value } = this.key(id);
    this.#keys.delete(id);
    this.#idsByValue.delete(value);
    this.#bindings.delete(id);
  }

  /** Adds a key to a plan. It can be in one plan of a stage. */
  bind(planId: string, keyId: string): ApiKey {
    const plan = this.plan(planId);
    const key = this.key(keyId);
    const bindings = this.#bindingsOf(keyId);
    if (bindings.has(planId))
      throw new ApiKeyError('ConflictException', 'Usage Plan already has the API Key associated');
    for (const otherId of bindings.keys()) {
      const shared = this.plan(otherId).apiStages.find((other) => isIn(plan, other));
      if (shared === undefined) continue;
      throw new ApiKeyError(
        'ConflictException',
        `Usage Plan ${otherId} and ${planId} cannot be associated to the same API Key: both have API Stage ${shared.apiId}:${shared.stage}`,
      );
    }
    bindings.set(planId, { bucket: undefined, use: new Map() });
    return key;
  }

  unbind(planId: string, keyId: string): void {
    this.plan(planId);
    if (!this.#bindingsOf(keyId).delete(planId)) notFound('Usage Plan Key');
  }

  /** None of a plan that does not exist. */
  keysOfPlan(planId: string): ApiKey[] {
    return this.keys().filter(({ id }) => this.#bindings.get(id)?.has(planId));
  }

  plansOfKey(keyId: string): UsagePlan[] {
    return [...(this.#bindings.get(keyId)?.keys() ?? [])].map((planId) => this.plan(planId));
  }

  /** Requests of the day of `at`. */
  usage(planId: string, keyId: string, at: number): readonly [used: number, remaining: number] {
    const { quota } = this.plan(planId);
    const use = this.#bindings.get(keyId)?.get(planId)?.use ?? new Map<string, number>();
    const remaining = quota === undefined ? Number.MAX_SAFE_INTEGER : quotaRemaining(quota, use, at);
    return [use.get(utcDay(at)) ?? 0, remaining];
  }

  /** Checks the bucket of the key's plan, then its quota. Only an admitted request counts towards the quota. */
  meter(
    value: string | undefined,
    at: ApiStage,
    now: number,
  ): { readonly outcome: 'admitted' | 'invalid' | 'throttled' | 'exhausted'; readonly key?: ApiKey } {
    const key = this.#keys.get(this.#idsByValue.get(value ?? '') ?? '');
    const [planId, binding] =
      [...(this.#bindings.get(key?.id ?? '') ?? [])].find(([id]) => isIn(this.plan(id), at)) ?? [];
    if (key === undefined || !key.enabled || planId === undefined || binding === undefined)
      return { outcome: 'invalid' };
    const { throttle, quota } = this.plan(planId);
    if (throttle !== undefined) {
      const taken = takeToken(throttle, binding.bucket ?? fullBucket(throttle, now), now);
      binding.bucket = taken.bucket;
      if (!taken.admitted) return { outcome: 'throttled', key };
    }
    if (quota !== undefined && quotaRemaining(quota, binding.use, now) < 1)
      return { outcome: 'exhausted', key };
    const day = utcDay(now);
    binding.use.set(day, (binding.use.get(day) ?? 0) + 1);
    return { outcome: 'admitted', key };
  }

  #add(key: ApiKey): void {
    this.#keys.set(key.id, key);
    this.#idsByValue.set(key.value, key.id);
  }

  #bindingsOf(keyId: string): Map<string, Binding> {
    const bindings = this.#bindings.get(keyId) ?? new Map<string, Binding>();
    this.#bindings.set(keyId, bindings);
    return bindings;
  }
}

function isIn({ apiStages }: UsagePlan, { apiId, stage }: ApiStage): boolean {
  return apiStages.some((each) => each.apiId === apiId && each.stage === stage);
}

function newId(): string {
  return BigInt(`0x${randomBytes(10).toString('hex')}`)
    .toString(36)
    .slice(-10)
    .padStart(10, '0');
}

function newValue(): string {
  return randomBytes(40).toString('base64url').replaceAll(/[-_]/g, '0').slice(0, 40);
}
