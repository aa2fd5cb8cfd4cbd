import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import {
  fullBucket,
  type Bucket,
  type Quota,
  quotaRemaining,
  takeToken,
  type Throttle,
  utcDay,
} from './metering.ts';

const apiKey = z
  .object({
    id: z.string(),
    value: z.string(),
    name: z.string().optional(),
    description: z.string().optional(),
    enabled: z.boolean(),
    tags: z.record(z.string(), z.string()),
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
  readonly description: string | undefined;
  readonly throttle: Throttle | undefined;
  readonly quota: Quota | undefined;
  readonly apiStages: readonly ApiStage[];
}

/** A key in a usage plan, and its usage there. */
interface Binding {
  readonly planId: string;
  readonly keyId: string;
  bucket: Bucket | undefined;
  readonly use: Map<string, number>;
}

/** The state kept between runs. Buckets are not included: they are full again within minutes. */
export const apiKeySnapshot = z.object({
  keys: z.array(apiKey),
  bindings: z.array(
    z.object({ planId: z.string(), keyId: z.string(), use: z.record(z.string(), z.number()) }),
  ),
});
export type ApiKeySnapshot = z.infer<typeof apiKeySnapshot>;

export type Metering = 'admitted' | 'invalid' | 'throttled' | 'exhausted';

/** An error of the management API. The name is that of the SDK's exception. */
export class ApiKeyError extends Error {
  override readonly name: 'BadRequestException' | 'ConflictException' | 'NotFoundException';
  constructor(name: ApiKeyError['name'], message: string) {
    super(message);
    this.name = name;
  }
}

/**
 * API Gateway's API keys and usage plans with the usage of each key. A plan's limits apply to each key, over all stages
 * of the plan.
 */
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
      if (!this.#keys.has(keyId)) continue;
      this.#bindingsOf(keyId).set(planId, {
        planId,
        keyId,
        bucket: undefined,
        use: new Map(Object.entries(use)),
      });
    }
  }

  /** Replaces the plans. Bindings to removed plans are deleted; keys and usage stay. */
  setPlans(plans: readonly UsagePlan[]): void {
    this.#plans = new Map(plans.map((plan) => [plan.id, plan]));
    for (const bindings of this.#bindings.values()) {
      for (const binding of bindings.values()) {
        if (!this.#plans.has(binding.planId)) bindings.delete(binding.planId);
        else binding.bucket = undefined;
      }
    }
  }

  snapshot(): ApiKeySnapshot {
    return {
      keys: this.keys(),
      bindings: [...this.#bindings.values()].flatMap((plans) =>
        [...plans.values()].map(({ planId, keyId, use }) => ({
          planId,
          keyId,
          use: Object.fromEntries(use),
        })),
      ),
    };
  }

  keys(): ApiKey[] {
    return [...this.#keys.values()];
  }

  plans(): UsagePlan[] {
    return [...this.#plans.values()];
  }

  /** @throws ApiKeyError NotFoundException */
  key(id: string): ApiKey {
    return this.#keys.get(id) ?? notFound('API Key');
  }

  /** @throws ApiKeyError NotFoundException */
  plan(id: string): UsagePlan {
    return this.#plans.get(id) ?? notFound('Usage Plan');
  }

  /**
   * https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-api-usage-plans.html
   *
   * @throws ApiKeyError BadRequestException: the value does not have 20 to 128 characters; ConflictException: a key with
   * this value exists
   */
  create(
    given: Partial<Pick<ApiKey, 'id' | 'value' | 'name' | 'description' | 'enabled' | 'tags'>>,
    now: number,
  ): ApiKey {
    const { id = newId(), value = newValue(), name, description, enabled = false, tags = {} } = given;
    const invalid =
      value.length < 20
        ? 'API Key value should be at least 20 characters'
        : value.length > 128
          ? 'API Key value exceeds maximum size of 128 characters'
          : !/^[\w-]+$/.test(value) && 'Invalid API Key value specified';
    if (invalid !== false) throw new ApiKeyError('BadRequestException', invalid);
    if (this.#idsByValue.has(value)) throw new ApiKeyError('ConflictException', 'API Key already exists');
    const key = { id, value, name, description, enabled, tags, createdAt: now, updatedAt: now };
    this.#add(key);
    return key;
  }

  /** @throws ApiKeyError NotFoundException */
  update(
    id: string,
    changes: Partial<Pick<ApiKey, 'name' | 'description' | 'enabled'>>,
    now: number,
  ): ApiKey {
    const key = { ...this.key(id), ...changes, updatedAt: now };
    this.#keys.set(id, key);
    return key;
  }

  /** Deletes the key and its bindings. @throws ApiKeyError NotFoundException */
  delete(id: string): void {
    const { value } = this.key(id);
    this.#keys.delete(id);
    this.#idsByValue.delete(value);
    this.#bindings.delete(id);
  }

  /**
   * Adds a key to a plan.
   *
   * @throws ApiKeyError NotFoundException; ConflictException when the key is in this plan, or in another one with a common
   * stage
   */
  bind(planId: string, keyId: string): ApiKey {
    const plan = this.plan(planId);
    const key = this.key(keyId);
    const bindings = this.#bindingsOf(keyId);
    if (bindings.has(planId)) {
      throw new ApiKeyError('ConflictException', 'Usage Plan already has the API Key associated');
    }
    for (const otherId of bindings.keys()) {
      const shared = this.plan(otherId).apiStages.find((other) =>
        plan.apiStages.some((own) => isSame(own, other)),
      );
      if (shared === undefined) continue;
      throw new ApiKeyError(
        'ConflictException',
        `Usage Plan ${otherId} and ${planId} cannot be associated to the same API Key: both have API Stage ${shared.apiId}:${shared.stage}`,
      );
    }
    bindings.set(planId, { planId, keyId, bucket: undefined, use: new Map() });
    return key;
  }

  /** @throws ApiKeyError NotFoundException */
  unbind(planId: string, keyId: string): void {
    this.plan(planId);
    if (!this.#bindingsOf(keyId).delete(planId)) notFound('Usage Plan Key');
  }

  isBound(planId: string, keyId: string): boolean {
    return this.#bindings.get(keyId)?.has(planId) === true;
  }

  keysOfPlan(planId: string): ApiKey[] {
    this.plan(planId);
    return this.keys().filter(({ id }) => this.isBound(planId, id));
  }

  plansOfKey(keyId: string): UsagePlan[] {
    return [...(this.#bindings.get(keyId)?.keys() ?? [])].map((planId) => this.plan(planId));
  }

  /** Requests used and remaining on a day, in milliseconds since the Unix epoch. */
  usage(planId: string, keyId: string, day: number): { readonly used: number; readonly remaining: number } {
    const { quota } = this.plan(planId);
    const binding = this.#bindings.get(keyId)?.get(planId);
    const used = binding?.use.get(utcDay(day)) ?? 0;
    if (quota === undefined) return { used, remaining: Number.MAX_SAFE_INTEGER };
    return { used, remaining: quotaRemaining(quota, binding?.use ?? new Map(), day) };
  }

  /**
   * Checks the bucket of the key's plan, then its quota. Only an admitted request counts towards the quota.
   *
   * @param now milliseconds since the Unix epoch
   */
  meter(
    value: string | undefined,
    at: ApiStage,
    now: number,
  ): { readonly outcome: Metering; readonly key?: ApiKey } {
    const key = this.#keys.get(this.#idsByValue.get(value ?? '') ?? '');
    const binding = key === undefined ? undefined : this.#bindingAt(key.id, at);
    if (key === undefined || !key.enabled || binding === undefined) return { outcome: 'invalid' };
    const { throttle, quota } = this.plan(binding.planId);
    if (throttle !== undefined) {
      const taken = takeToken(throttle, binding.bucket ?? fullBucket(throttle, now), now);
      binding.bucket = taken.bucket;
      if (!taken.admitted) return { outcome: 'throttled', key };
    }
    if (quota !== undefined && quotaRemaining(quota, binding.use, now) < 1) {
      return { outcome: 'exhausted', key };
    }
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

  #bindingAt(keyId: string, at: ApiStage): Binding | undefined {
    for (const binding of this.#bindings.get(keyId)?.values() ?? []) {
      if (this.plan(binding.planId).apiStages.some((stage) => isSame(stage, at))) return binding;
    }
    return undefined;
  }
}

function isSame(one: ApiStage, other: ApiStage): boolean {
  return one.apiId === other.apiId && one.stage === other.stage;
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

function notFound(what: string): never {
  throw new ApiKeyError('NotFoundException', `Invalid ${what} identifier specified`);
}
