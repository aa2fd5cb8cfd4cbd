import { z } from 'zod';
import { type ApiKey, ApiKeyError, type ApiKeyStore, type UsagePlan } from '../usage-plans/store.ts';
import type { HttpResponse } from '../http-message.ts';
import type { FaultInjector } from './faults.ts';
import { jsonAnswer, jsonError, type ManagementRequest } from './responses.ts';

/**
 * The part of API Gateway's management API that keys and usage plans need.
 *
 * https://docs.aws.amazon.com/apigateway/latest/api/API_Operations.html
 */
export interface ApiGatewayState {
  readonly keys: ApiKeyStore;
  readonly faults: FaultInjector;
  readonly restApiId: string;
  readonly stage: string;
  readonly flushAuthorizerCache: () => void;
  /** Writes the keys to the data directory; called after every change. */
  readonly save: () => Promise<void>;
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number;
}

type Operation = (
  state: ApiGatewayState,
  request: ManagementRequest,
  ids: readonly string[],
) => HttpResponse | Promise<HttpResponse>;

const operations: Readonly<Record<string, readonly [method: string, path: RegExp, operation: Operation]>> = {
  CreateApiKey: ['POST', /^\/apikeys$/, createApiKey],
  GetApiKeys: ['GET', /^\/apikeys$/, getApiKeys],
  GetApiKey: ['GET', /^\/apikeys\/([^/]+)$/, getApiKey],
  UpdateApiKey: ['PATCH', /^\/apikeys\/([^/]+)$/, updateApiKey],
  DeleteApiKey: ['DELETE', /^\/apikeys\/([^/]+)$/, deleteApiKey],
  GetUsagePlans: ['GET', /^\/usageplans$/, getUsagePlans],
  GetUsagePlan: ['GET', /^\/usageplans\/([^/]+)$/, getUsagePlan],
  GetUsage: ['GET', /^\/usageplans\/([^/]+)\/usage$/, getUsage],
  CreateUsagePlanKey: ['POST', /^\/usageplans\/([^/]+)\/keys$/, createUsagePlanKey],
  GetUsagePlanKeys: ['GET', /^\/usageplans\/([^/]+)\/keys$/, getUsagePlanKeys],
  GetUsagePlanKey: ['GET', /^\/usageplans\/([^/]+)\/keys\/([^/]+)$/, getUsagePlanKey],
  DeleteUsagePlanKey: ['DELETE', /^\/usageplans\/([^/]+)\/keys\/([^/]+)$/, deleteUsagePlanKey],
  FlushStageAuthorizersCache: [
    'DELETE',
    /^\/restapis\/([^/]+)\/stages\/([^/]+)\/cache\/authorizers$/,
    flushStageAuthorizersCache,
  ],
};

const statusOf = { BadRequestException: 400, NotFoundException: 404, ConflictException: 409 } as const;

export async function answerApiGateway(
  state: ApiGatewayState,
  request: ManagementRequest,
): Promise<HttpResponse> {
  const found = Object.entries(operations).find(
    ([, [method, path]]) => method === request.method && path.test(request.path),
  );
  if (found === undefined) {
    return jsonError(
      404,
      'UnknownOperationException',
      `${request.method} ${request.path} is not supported by cdk-offline`,
    );
  }
  const [name, [, path, operation]] = found;
  const failure = state.faults.failureOf(name, state.now());
  if (failure !== undefined) return failure;
  try {
    const ids = (path.exec(request.path) ?? []).slice(1).map((id) => decodeId(id));
    return await operation(state, request, ids);
  } catch (error) {
    if (error instanceof ApiKeyError) return jsonError(statusOf[error.name], error.name, error.message);
    if (error instanceof z.ZodError) return jsonError(400, 'BadRequestException', z.prettifyError(error));
    throw error;
  }
}

function decodeId(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new ApiKeyError('BadRequestException', `The path is not valid percent-encoding: ${text}`);
  }
}

const keyInput = z.object({
  name: z.string().optional(),
  description: z.string().optional(),
  enabled: z.boolean().optional(),
  value: z.string().optional(),
  tags: z.record(z.string(), z.string()).optional(),
});

async function createApiKey(
  { keys, save, now }: ApiGatewayState,
  { body }: ManagementRequest,
): Promise<HttpResponse> {
  const key = keys.create(defined(parseBody(body, keyInput)), now());
  await save();
  return jsonAnswer(201, { ...toKey(key, keys), value: key.value });
}

function getApiKeys({ keys }: ApiGatewayState, { query }: ManagementRequest): HttpResponse {
  const name = query.get('name') ?? '';
  const matching = keys.keys().filter((key) => (key.name ?? '').startsWith(name));
  const withValues = query.get('includeValues') === 'true';
  return page(matching, query, (key) => ({ ...toKey(key, keys), ...(withValues && { value: key.value }) }));
}

function getApiKey(
  { keys }: ApiGatewayState,
  { query }: ManagementRequest,
  [id = '']: readonly string[],
): HttpResponse {
  const key = keys.key(id);
  const withValue = query.get('includeValue') === 'true';
  return jsonAnswer(200, { ...toKey(key, keys), ...(withValue && { value: key.value }) });
}

const patch = z.object({
  patchOperations: z
    .array(
      z.discriminatedUnion('path', [
        z.object({ op: z.literal('replace'), path: z.literal('/name'), value: z.string() }),
        z.object({ op: z.literal('replace'), path: z.literal('/description'), value: z.string() }),
        z.object({ op: z.literal('replace'), path: z.literal('/enabled'), value: z.stringbool() }),
      ]),
    )
    .default([]),
});

async function updateApiKey(
  { keys, save, now }: ApiGatewayState,
  { body }: ManagementRequest,
  [id = '']: readonly string[],
): Promise<HttpResponse> {
  const { patchOperations } = parseBody(body, patch);
  const changes = Object.fromEntries(patchOperations.map(({ path, value }) => [path.slice(1), value]));
  const key = keys.update(id, changes, now());
  await save();
  return jsonAnswer(200, toKey(key, keys));
}

async function deleteApiKey(
  { keys, save }: ApiGatewayState,
  _: ManagementRequest,
  [id = '']: readonly string[],
): Promise<HttpResponse> {
  keys.delete(id);
  await save();
  return jsonAnswer(202, undefined);
}

function getUsagePlans({ keys }: ApiGatewayState, { query }: ManagementRequest): HttpResponse {
  const keyId = query.get('keyId');
  return page(keyId === null ? keys.plans() : keys.plansOfKey(keyId), query, toPlan);
}

function getUsagePlan(
  { keys }: ApiGatewayState,
  _: ManagementRequest,
  [id = '']: readonly string[],
): HttpResponse {
  return jsonAnswer(200, toPlan(keys.plan(id)));
}

const day = z.iso.date();

function getUsage(
  { keys }: ApiGatewayState,
  { query }: ManagementRequest,
  [id = '']: readonly string[],
): HttpResponse {
  const { startDate, endDate } = z
    .object({ startDate: day, endDate: day })
    .parse({ startDate: query.get('startDate'), endDate: query.get('endDate') });
  const days: number[] = [];
  for (let at = Date.parse(startDate); at <= Date.parse(endDate); at += 86_400_000) days.push(at);
  const keyId = query.get('keyId');
  const wanted = keys.keysOfPlan(id).filter((key) => keyId === null || key.id === keyId);
  const { items, position } = slice(wanted, query);
  return jsonAnswer(200, {
    usagePlanId: id,
    startDate,
    endDate,
    position,
    values: Object.fromEntries(
      items.map((key) => [
        key.id,
        days.map((at) => {
          const { used, remaining } = keys.usage(id, key.id, at);
          return [used, remaining];
        }),
      ]),
    ),
  });
}

const usagePlanKeyInput = z.object({ keyId: z.string(), keyType: z.literal('API_KEY') });

async function createUsagePlanKey(
  { keys, save }: ApiGatewayState,
  { body }: ManagementRequest,
  [planId = '']: readonly string[],
): Promise<HttpResponse> {
  const key = keys.bind(planId, parseBody(body, usagePlanKeyInput).keyId);
  await save();
  return jsonAnswer(201, toPlanKey(key));
}

function getUsagePlanKeys(
  { keys }: ApiGatewayState,
  { query }: ManagementRequest,
  [planId = '']: readonly string[],
): HttpResponse {
  const name = query.get('name') ?? '';
  return page(
    keys.keysOfPlan(planId).filter((key) => (key.name ?? '').startsWith(name)),
    query,
    toPlanKey,
  );
}

function getUsagePlanKey(
  { keys }: ApiGatewayState,
  _: ManagementRequest,
  [planId = '', keyId = '']: readonly string[],
): HttpResponse {
  const key = keys.keysOfPlan(planId).find(({ id }) => id === keyId);
  if (key === undefined)
    throw new ApiKeyError('NotFoundException', 'Invalid Usage Plan Key identifier specified');
  return jsonAnswer(200, toPlanKey(key));
}

async function deleteUsagePlanKey(
  { keys, save }: ApiGatewayState,
  _: ManagementRequest,
  [planId = '', keyId = '']: readonly string[],
): Promise<HttpResponse> {
  keys.unbind(planId, keyId);
  await save();
  return jsonAnswer(202, undefined);
}

function flushStageAuthorizersCache(
  state: ApiGatewayState,
  _: ManagementRequest,
  [restApiId, stage]: readonly string[],
): HttpResponse {
  if (restApiId !== state.restApiId) {
    throw new ApiKeyError('NotFoundException', 'Invalid API identifier specified');
  }
  if (stage !== state.stage) throw new ApiKeyError('NotFoundException', 'Invalid stage identifier specified');
  state.flushAuthorizerCache();
  return jsonAnswer(202, undefined);
}

function toKey(key: ApiKey, keys: ApiKeyStore): Record<string, unknown> {
  const { id, name, description, enabled, tags, createdAt, updatedAt } = key;
  return {
    id,
    name,
    description,
    enabled,
    tags,
    createdDate: Math.floor(createdAt / 1000),
    lastUpdatedDate: Math.floor(updatedAt / 1000),
    stageKeys: keys
      .plansOfKey(id)
      .flatMap(({ apiStages }) => apiStages.map(({ apiId, stage }) => `${apiId}/${stage}`)),
  };
}

function toPlanKey({ id, value, name }: ApiKey): Record<string, unknown> {
  return { id, type: 'API_KEY', value, name };
}

function toPlan({ id, name, description, throttle, quota, apiStages }: UsagePlan): Record<string, unknown> {
  return {
    id,
    name,
    description,
    apiStages,
    ...(throttle && { throttle: { rateLimit: throttle.rate, burstLimit: throttle.burst } }),
    ...(quota && { quota: { limit: quota.limit, period: 'DAY', offset: 0 } }),
  };
}

/** https://docs.aws.amazon.com/apigateway/latest/api/API_GetApiKeys.html */
const pageSize = { usual: 25, largest: 500 };

function page<T extends { readonly id: string }>(
  all: readonly T[],
  query: URLSearchParams,
  toItem: (item: T) => unknown,
): HttpResponse {
  const { items, position } = slice(all, query);
  return jsonAnswer(200, { item: items.map((item) => toItem(item)), position });
}

/** The items after a position, which is the id of the last one seen: it holds when others come and go. */
function slice<T extends { readonly id: string }>(all: readonly T[], query: URLSearchParams) {
  const limit = z.coerce.number().int().min(1).max(pageSize.largest).default(pageSize.usual);
  const size = limit.parse(query.get('limit') ?? undefined);
  const seen = Buffer.from(query.get('position') ?? '', 'base64url').toString();
  const rest = all.filter(({ id }) => id > seen).toSorted((one, other) => (one.id < other.id ? -1 : 1));
  const items = rest.slice(0, size);
  const last = rest.length > size ? items.at(-1)?.id : undefined;
  return { items, position: last === undefined ? undefined : Buffer.from(last).toString('base64url') };
}

function parseBody<T>(body: Buffer, schema: z.ZodType<T>): T {
  let value: unknown;
  try {
    value = JSON.parse(body.toString() || '{}');
  } catch {
    throw new ApiKeyError('BadRequestException', 'Unable to parse the request body');
  }
  return schema.parse(value);
}

/** Without the properties whose value is undefined. */
function defined<T extends object>(value: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, own]) => own !== undefined)) as ReturnType<
    typeof defined<T>
  >;
}
