import { z } from 'zod';
import { Router } from '../gateway/router.ts';
import type { HttpResponse } from '../http/response.ts';
import { utcDay } from '../usage-plans/metering.ts';
import { type ApiKey, ApiKeyError, type ApiKeyStore, type UsagePlan } from '../usage-plans/store.ts';
import { jsonAnswer, jsonError, type ManagementRequest } from './answers.ts';

/**
 * The part of API Gateway's management API for keys and usage plans.
 *
 * https://docs.aws.amazon.com/apigateway/latest/api/API_Operations.html
 */
export interface ApiGatewayState {
  readonly keys: ApiKeyStore;
  readonly restApiId: string;
  readonly stage: string;
  readonly flushAuthorizerCache: () => void;
  /** Writes the keys to the data directory; called after every change. */
  readonly save: () => Promise<void>;
}

interface Call extends ApiGatewayState, ManagementRequest {
  /** Path parameters, decoded. */
  readonly keyId: string;
  readonly planId: string;
  readonly parameters: Readonly<Record<string, string>>;
}
type Operation = (call: Call) => HttpResponse;

const operations = new Router<Readonly<Record<string, Operation>>>([
  ['/apikeys', { POST: createApiKey, GET: getApiKeys }],
  ['/apikeys/{keyId}', { GET: getApiKey, PATCH: updateApiKey, DELETE: deleteApiKey }],
  ['/usageplans', { GET: getUsagePlans }],
  ['/usageplans/{planId}', { GET: ({ keys, planId }) => jsonAnswer(200, toPlan(keys.plan(planId))) }],
  ['/usageplans/{planId}/usage', { GET: getUsage }],
  ['/usageplans/{planId}/keys', { POST: createUsagePlanKey, GET: getUsagePlanKeys }],
  ['/usageplans/{planId}/keys/{keyId}', { GET: getUsagePlanKey, DELETE: deleteUsagePlanKey }],
  ['/restapis/{apiId}/stages/{stageName}/cache/authorizers', { DELETE: flushStageAuthorizersCache }],
]);

const statusOf = { BadRequestException: 400, NotFoundException: 404, ConflictException: 409 } as const;

export async function answerApiGateway(
  state: ApiGatewayState,
  request: ManagementRequest,
): Promise<HttpResponse> {
  const { method, path } = request;
  const match = operations.find(path);
  const operation = match?.target[method];
  if (match === undefined || operation === undefined) {
    const message = `${method} ${path} is not supported by cdk-offline`;
    return jsonError(404, 'UnknownOperationException', message);
  }
  try {
    const parameters = Object.fromEntries(
      Object.entries(match.pathParameters).map(([key, text]) => [key, decode(text)]),
    );
    const { keyId = '', planId = '' } = parameters;
    const response = operation({ ...state, ...request, keyId, planId, parameters });
    if (method !== 'GET') await state.save();
    return response;
  } catch (error) {
    if (error instanceof ApiKeyError) return jsonError(statusOf[error.name], error.name, error.message);
    if (error instanceof z.ZodError) return jsonError(400, 'BadRequestException', z.prettifyError(error));
    throw error;
  }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new ApiKeyError('BadRequestException', `The path is not valid percent-encoding: ${text}`);
  }
}

const keyInput = z.object({
  name: z.string().exactOptional(),
  description: z.string().exactOptional(),
  enabled: z.boolean().exactOptional(),
  value: z.string().exactOptional(),
  tags: z.record(z.string(), z.string()).exactOptional(),
});

function createApiKey({ keys, body }: Call): HttpResponse {
  return jsonAnswer(201, toKey(keys.create(parseBody(body, keyInput), Date.now()), keys, true));
}

function getApiKeys({ keys, query }: Call): HttpResponse {
  const withValues = query.get('includeValues') === 'true';
  return page(named(keys.keys(), query), query, (key) => toKey(key, keys, withValues));
}

function getApiKey({ keys, query, keyId }: Call): HttpResponse {
  return jsonAnswer(200, toKey(keys.key(keyId), keys, query.get('includeValue') === 'true'));
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

function updateApiKey({ keys, body, keyId }: Call): HttpResponse {
  const { patchOperations } = parseBody(body, patch);
  const changes = Object.fromEntries(patchOperations.map(({ path, value }) => [path.slice(1), value]));
  return jsonAnswer(200, toKey(keys.update(keyId, changes, Date.now()), keys, false));
}

function deleteApiKey({ keys, keyId }: Call): HttpResponse {
  keys.delete(keyId);
  return jsonAnswer(202, undefined);
}

function getUsagePlans({ keys, query }: Call): HttpResponse {
  const keyId = query.get('keyId');
  return page(keyId === null ? keys.plans() : keys.plansOfKey(keyId), query, toPlan);
}

const dayMs = 86_400_000;
const mostDays = 90;
const day = z.iso.date().transform((text) => Date.parse(text));
const period = z
  .object({ startDate: day, endDate: day })
  .refine(
    ({ startDate, endDate }) => startDate <= endDate && endDate - startDate < mostDays * dayMs,
    `startDate to endDate must be 1 to ${mostDays} days`,
  );

function getUsage({ keys, query, planId }: Call): HttpResponse {
  const { startDate, endDate } = period.parse(Object.fromEntries(query));
  const days: number[] = [];
  for (let at = startDate; at <= endDate; at += dayMs) days.push(at);
  const keyId = query.get('keyId');
  const wanted = keys.keysOfPlan(planId).filter((key) => keyId === null || key.id === keyId);
  const { items, position } = slice(wanted, query);
  const usageOf = ({ id }: ApiKey) =>
    days.map((at) => {
      const { used, remaining } = keys.usage(planId, id, at);
      return [used, remaining];
    });
  const values = Object.fromEntries(items.map((key) => [key.id, usageOf(key)]));
  const [first, last] = [startDate, endDate].map((at) => utcDay(at));
  return jsonAnswer(200, { usagePlanId: planId, startDate: first, endDate: last, position, values });
}

const usagePlanKeyInput = z.object({ keyId: z.string(), keyType: z.literal('API_KEY') });

function createUsagePlanKey({ keys, body, planId }: Call): HttpResponse {
  return jsonAnswer(201, toPlanKey(keys.bind(planId, parseBody(body, usagePlanKeyInput).keyId)));
}

function getUsagePlanKeys({ keys, query, planId }: Call): HttpResponse {
  return page(named(keys.keysOfPlan(planId), query), query, toPlanKey);
}

function getUsagePlanKey({ keys, planId, keyId }: Call): HttpResponse {
  const key = keys.keysOfPlan(planId).find(({ id }) => id === keyId);
  if (key === undefined) return notFound('Usage Plan Key');
  return jsonAnswer(200, toPlanKey(key));
}

function deleteUsagePlanKey({ keys, planId, keyId }: Call): HttpResponse {
  keys.unbind(planId, keyId);
  return jsonAnswer(202, undefined);
}

function flushStageAuthorizersCache({ parameters, restApiId, stage, ...state }: Call): HttpResponse {
  if (parameters['apiId'] !== restApiId) return notFound('API');
  if (parameters['stageName'] !== stage) return notFound('stage');
  state.flushAuthorizerCache();
  return jsonAnswer(202, undefined);
}

function toKey(key: ApiKey, keys: ApiKeyStore, withValue: boolean): Record<string, unknown> {
  const { createdAt, updatedAt, value, ...rest } = key;
  return {
    ...rest,
    ...(withValue && { value }),
    createdDate: Math.floor(createdAt / 1000),
    lastUpdatedDate: Math.floor(updatedAt / 1000),
    stageKeys: keys
      .plansOfKey(key.id)
      .flatMap(({ apiStages }) => apiStages.map(({ apiId, stage }) => `${apiId}/${stage}`)),
  };
}

function toPlanKey({ id, value, name }: ApiKey): Record<string, unknown> {
  return { id, type: 'API_KEY', value, name };
}

function toPlan({ throttle, quota, ...plan }: UsagePlan): Record<string, unknown> {
  return {
    ...plan,
    ...(throttle && { throttle: { rateLimit: throttle.rate, burstLimit: throttle.burst } }),
    ...(quota && { quota: { limit: quota.limit, period: 'DAY', offset: 0 } }),
  };
}

function named(keys: readonly ApiKey[], query: URLSearchParams): ApiKey[] {
  return keys.filter(({ name = '' }) => name.startsWith(query.get('name') ?? ''));
}

/** https://docs.aws.amazon.com/apigateway/latest/api/API_GetApiKeys.html */
const limit = z.coerce.number().int().min(1).max(500).default(25);

function page<T extends { readonly id: string }>(
  all: readonly T[],
  query: URLSearchParams,
  toItem: (item: T) => unknown,
): HttpResponse {
  const { items, position } = slice(all, query);
  return jsonAnswer(200, { item: items.map((item) => toItem(item)), position });
}

/** The items after a position, which is the ID of the last item returned: it stays valid when items are added or removed. */
function slice<T extends { readonly id: string }>(all: readonly T[], query: URLSearchParams) {
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

function notFound(what: string): never {
  throw new ApiKeyError('NotFoundException', `Invalid ${what} identifier specified`);
}
