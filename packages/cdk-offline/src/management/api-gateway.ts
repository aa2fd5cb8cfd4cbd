import { z } from 'zod';
import { type ApiKey, ApiKeyError, type ApiKeys, type UsagePlan } from '../api-keys.ts';
import type { HttpAnswer } from '../gateway/proxy-answer.ts';
import { jsonAnswer, jsonError, type ManagementRequest } from './answer.ts';

/**
 * The part of API Gateway's management API that keys and usage plans need.
 *
 * https://docs.aws.amazon.com/apigateway/latest/api/API_Operations.html
 */
export interface ApiGatewayState {
  readonly keys: ApiKeys;
  readonly restApiId: string;
  readonly stage: string;
  readonly flushAuthorizerCache: () => void;
  /** Keeps the keys for the next run; called after every change. */
  readonly save: () => Promise<void>;
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number;
}

type Operation = (
  state: ApiGatewayState,
  request: ManagementRequest,
  ids: readonly string[],
) => HttpAnswer | Promise<HttpAnswer>;

const operations: readonly (readonly [method: string, path: RegExp, operation: Operation])[] = [
  ['POST', /^\/apikeys$/, createApiKey],
  ['GET', /^\/apikeys$/, getApiKeys],
  ['GET', /^\/apikeys\/([^/]+)$/, getApiKey],
  ['PATCH', /^\/apikeys\/([^/]+)$/, updateApiKey],
  ['DELETE', /^\/apikeys\/([^/]+)$/, deleteApiKey],
  ['GET', /^\/usageplans$/, getUsagePlans],
  ['GET', /^\/usageplans\/([^/]+)$/, getUsagePlan],
  ['GET', /^\/usageplans\/([^/]+)\/usage$/, getUsage],
  ['POST', /^\/usageplans\/([^/]+)\/keys$/, createUsagePlanKey],
  ['GET', /^\/usageplans\/([^/]+)\/keys$/, getUsagePlanKeys],
  ['GET', /^\/usageplans\/([^/]+)\/keys\/([^/]+)$/, getUsagePlanKey],
  ['DELETE', /^\/usageplans\/([^/]+)\/keys\/([^/]+)$/, deleteUsagePlanKey],
  ['DELETE', /^\/restapis\/([^/]+)\/stages\/([^/]+)\/cache\/authorizers$/, flushStageAuthorizersCache],
];

const statusOf = { BadRequestException: 400, NotFoundException: 404, ConflictException: 409 } as const;

export async function answerApiGateway(
  state: ApiGatewayState,
  request: ManagementRequest,
): Promise<HttpAnswer> {
  const found = operations.find(([method, path]) => method === request.method && path.test(request.path));
  if (found === undefined) {
    return jsonError(
      404,
      'UnknownOperationException',
      `${request.method} ${request.path} is not offered here`,
    );
  }
  const [, path, operation] = found;
  const ids = (path.exec(request.path) ?? []).slice(1).map((id) => decodeURIComponent(id));
  try {
    return await operation(state, request, ids);
  } catch (error) {
    if (error instanceof ApiKeyError) return jsonError(statusOf[error.name], error.name, error.message);
    if (error instanceof z.ZodError) return jsonError(400, 'BadRequestException', z.prettifyError(error));
    throw error;
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
): Promise<HttpAnswer> {
  const key = keys.create(defined(parseBody(body, keyInput)), now());
  await save();
  return jsonAnswer(201, { ...toKey(key, keys), value: key.value });
}

function getApiKeys({ keys }: ApiGatewayState, { query }: ManagementRequest): HttpAnswer {
  const name = query.get('name') ?? '';
  const matching = keys.keys().filter((key) => (key.name ?? '').startsWith(name));
  const withValues = query.get('includeValues') === 'true';
  return page(matching, query, (key) => ({ ...toKey(key, keys), ...(withValues && { value: key.value }) }));
}

function getApiKey(
  { keys }: ApiGatewayState,
  { query }: ManagementRequest,
  [id = '']: readonly string[],
): HttpAnswer {
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
): Promise<HttpAnswer> {
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
): Promise<HttpAnswer> {
  keys.delete(id);
  await save();
  return jsonAnswer(202, undefined);
}

function getUsagePlans({ keys }: ApiGatewayState, { query }: ManagementRequest): HttpAnswer {
  const keyId = query.get('keyId');
  return page(keyId === null ? keys.plans() : keys.plansOfKey(keyId), query, toPlan);
}

function getUsagePlan(
  { keys }: ApiGatewayState,
  _: ManagementRequest,
  [id = '']: readonly string[],
): HttpAnswer {
  return jsonAnswer(200, toPlan(keys.plan(id)));
}

const day = z.iso.date();

function getUsage(
  { keys }: ApiGatewayState,
  { query }: ManagementRequest,
  [id = '']: readonly string[],
): HttpAnswer {
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
  { keys, save, now }: ApiGatewayState,
  { body }: ManagementRequest,
  [planId = '']: readonly string[],
): Promise<HttpAnswer> {
  const key = keys.bind(planId, parseBody(body, usagePlanKeyInput).keyId, now());
  await save();
  return jsonAnswer(201, toPlanKey(key));
}

function getUsagePlanKeys(
  { keys }: ApiGatewayState,
  { query }: ManagementRequest,
  [planId = '']: readonly string[],
): HttpAnswer {
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
): HttpAnswer {
  const key = keys.keysOfPlan(planId).find(({ id }) => id === keyId);
  if (key === undefined)
    throw new ApiKeyError('NotFoundException', 'Invalid Usage Plan Key identifier specified');
  return jsonAnswer(200, toPlanKey(key));
}

async function deleteUsagePlanKey(
  { keys, save }: ApiGatewayState,
  _: ManagementRequest,
  [planId = '', keyId = '']: readonly string[],
): Promise<HttpAnswer> {
  keys.unbind(planId, keyId);
  await save();
  return jsonAnswer(202, undefined);
}

function flushStageAuthorizersCache(
  state: ApiGatewayState,
  _: ManagementRequest,
  [restApiId, stage]: readonly string[],
): HttpAnswer {
  if (restApiId !== state.restApiId) {
    throw new ApiKeyError('NotFoundException', 'Invalid API identifier specified');
  }
  if (stage !== state.stage) throw new ApiKeyError('NotFoundException', 'Invalid stage identifier specified');
  state.flushAuthorizerCache();
  return jsonAnswer(202, undefined);
}

function toKey(key: ApiKey, keys: ApiKeys): Record<string, unknown> {
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
    ...(quota && { quota }),
  };
}

/** https://docs.aws.amazon.com/apigateway/latest/api/API_GetApiKeys.html */
const pageSize = { usual: 25, largest: 500 };

function page<T extends { readonly id: string }>(
  all: readonly T[],
  query: URLSearchParams,
  toItem: (item: T) => unknown,
): HttpAnswer {
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

/** Without the properties that are there and undefined. */
function defined<T extends object>(value: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, own]) => own !== undefined)) as ReturnType<
    typeof defined<T>
  >;
}
