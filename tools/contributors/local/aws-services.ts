import { z } from 'zod';
import { type ApiKey, ApiKeyError, type ApiKeyStore, utcDay } from './api-keys.ts';
import type { HttpResponse } from './http.ts';
import { accountId } from './template.ts';

/** The calls of AWS that the key tool, the animals tool and their tests make, except those of DynamoDB. */

/** A request of an AWS SDK. */
export interface ManagementRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

function jsonAnswer(status: number, body?: unknown): HttpResponse {
  return {
    status,
    headers: [['Content-Type', 'application/json']],
    body: Buffer.from(body === undefined ? '' : JSON.stringify(body)),
  };
}

/** An error in the format of the SDK's JSON protocols. */
export function jsonError(status: number, name: string, message: string): HttpResponse {
  const { headers, ...answer } = jsonAnswer(status, { __type: name, message });
  return { ...answer, headers: [...headers, ['x-amzn-ErrorType', name]] };
}

export interface ApiGatewayState {
  readonly keys: ApiKeyStore;
  readonly restApiId: string;
  readonly stage: string;
  readonly flushAuthorizerCache: () => void;
  /** Writes the keys to the data directory; called after every change. */
  readonly save: () => Promise<void>;
}

type Operation = (
  call: ApiGatewayState & ManagementRequest,
  ...parameters: readonly [first: string, second: string]
) => HttpResponse;

/** https://docs.aws.amazon.com/apigateway/latest/api/API_Operations.html */
const operations: readonly (readonly [request: RegExp, operation: Operation])[] = [
  [
    /^POST \/apikeys$/,
    ({ keys, body }) => {
      const { name = '', value = '', ...given } = parse(body, keyInput);
      const texts = { ...(name !== '' && { name }), ...(value !== '' && { value }) };
      const created = keys.create({ ...given, ...texts }, Date.now());
      return jsonAnswer(201, toKey(created, keys, true));
    },
  ],
  [
    /^GET \/apikeys$/,
    ({ keys, query }) => {
      const withValues = query.get('includeValues') === 'true';
      return page(keys.keys(), query, (key) => toKey(key, keys, withValues));
    },
  ],
  [
    /^DELETE \/apikeys\/([^/]+)$/,
    ({ keys }, id) => {
      keys.delete(id);
      return jsonAnswer(202);
    },
  ],
  [/^GET \/usageplans\/([^/]+)\/usage$/, getUsage],
  [
    /^GET \/usageplans\/([^/]+)\/keys$/,
    ({ keys, query }, plan) => page(keys.keysOfPlan(plan), query, toPlanKey),
  ],
  [
    /^POST \/usageplans\/([^/]+)\/keys$/,
    ({ keys, body }, plan) => jsonAnswer(201, toPlanKey(keys.bind(plan, parse(body, planKeyInput).keyId))),
  ],
  [
    /^GET \/usageplans\/([^/]+)\/keys\/([^/]+)$/,
    ({ keys }, plan, id) => {
      const key = keys.keysOfPlan(plan).find((each) => each.id === id);
      return jsonAnswer(200, toPlanKey(key ?? notFound('Usage Plan Key')));
    },
  ],
  [
    /^DELETE \/usageplans\/([^/]+)\/keys\/([^/]+)$/,
    ({ keys }, plan, id) => {
      keys.unbind(plan, id);
      return jsonAnswer(202);
    },
  ],
  [
    /^DELETE \/restapis\/([^/]+)\/stages\/([^/]+)\/cache\/authorizers$/,
    ({ restApiId, stage, flushAuthorizerCache }, api, name) => {
      if (api !== restApiId) notFound('API');
      if (name !== stage) notFound('stage');
      flushAuthorizerCache();
      return jsonAnswer(202);
    },
  ],
];

export async function answerApiGateway(
  state: ApiGatewayState,
  request: ManagementRequest,
): Promise<HttpResponse> {
  const { method, path } = request;
  const call = `${method} ${path}`;
  const [pattern, operation] = operations.find(([each]) => each.test(call)) ?? [];
  if (pattern === undefined || operation === undefined)
    return jsonError(404, 'UnknownOperationException', `${call} is not served locally`);
  try {
    const [, first = '', second = ''] = (pattern.exec(call) ?? []).map(decode);
    const response = operation({ ...state, ...request }, first, second);
    if (method !== 'GET') await state.save();
    return response;
  } catch (error) {
    if (error instanceof ApiKeyError) return jsonError(error.status, error.name, error.message);
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
  // What is not a boolean is false, and an empty value is generated (recorded on AWS by LocalStack, 2025).
  enabled: z.boolean().catch(false).exactOptional(),
  value: z.string().exactOptional(),
});
const planKeyInput = z.object({ keyId: z.string(), keyType: z.literal('API_KEY') });

const dayMs = 86_400_000;
const mostDays = 90;
const day = z.iso.date().transform((text) => Date.parse(text));
const period = z
  .object({ startDate: day, endDate: day })
  .refine(
    ({ startDate, endDate }) => startDate <= endDate && endDate - startDate < mostDays * dayMs,
    `startDate to endDate must be 1 to ${mostDays} days`,
  );

function getUsage({ keys, query }: ApiGatewayState & ManagementRequest, planId: string): HttpResponse {
  const { startDate, endDate } = period.parse(Object.fromEntries(query));
  const days = Array.from(
    { length: (endDate - startDate) / dayMs + 1 },
    (_, each) => startDate + each * dayMs,
  );
  const { id } = keys.plan(planId);
  const keyId = query.get('keyId');
  const wanted = keys.keysOfPlan(id).filter((key) => keyId === null || key.id === keyId);
  const { items, position } = slice(wanted, query);
  const values = Object.fromEntries(
    items.map((key) => [key.id, days.map((at) => keys.usage(id, key.id, at))]),
  );
  const [first, last] = [startDate, endDate].map((at) => utcDay(at));
  return jsonAnswer(200, { usagePlanId: id, startDate: first, endDate: last, position, values });
}

function toKey({ createdAt, updatedAt, value, ...rest }: ApiKey, keys: ApiKeyStore, withValue: boolean) {
  return {
    ...rest,
    ...(withValue && { value }),
    createdDate: Math.floor(createdAt / 1000),
    lastUpdatedDate: Math.floor(updatedAt / 1000),
    stageKeys: keys
      .plansOfKey(rest.id)
      .flatMap(({ apiStages }) => apiStages.map(({ apiId, stage }) => `${apiId}/${stage}`)),
  };
}

function toPlanKey({ id, value, name }: ApiKey) {
  return { id, type: 'API_KEY', value, name };
}

/** https://docs.aws.amazon.com/apigateway/latest/api/API_GetApiKeys.html */
const limit = z.coerce.number().int().min(1).max(500).default(25);

function page(
  all: readonly ApiKey[],
  query: URLSearchParams,
  toItem: (key: ApiKey) => unknown,
): HttpResponse {
  const named = all.filter(({ name = '' }) => name.startsWith(query.get('name') ?? ''));
  const { items, position } = slice(named, query);
  return jsonAnswer(200, { item: items.map((item) => toItem(item)), position });
}

/** The items after a position, which is the ID of the last item returned: it stays valid when items are added or removed. */
function slice(all: readonly ApiKey[], query: URLSearchParams) {
  const size = limit.parse(query.get('limit') ?? undefined);
  const seen = Buffer.from(query.get('position') ?? '', 'base64url').toString();
  const rest = all.filter(({ id }) => id > seen).toSorted((one, other) => (one.id < other.id ? -1 : 1));
  const items = rest.slice(0, size);
  const last = rest.length > size ? items.at(-1)?.id : undefined;
  return { items, position: last === undefined ? undefined : Buffer.from(last).toString('base64url') };
}

function parse<T>(body: Buffer, schema: z.ZodType<T>): T {
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

export interface StackDescription {
  readonly name: string;
  readonly outputs: Readonly<Record<string, string>>;
}

/** https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_DescribeStacks.html */
export function answerCloudFormation(stack: StackDescription, { body }: ManagementRequest): HttpResponse {
  const parameters = new URLSearchParams(body.toString());
  const action = parameters.get('Action') ?? '';
  if (action !== 'DescribeStacks')
    return xmlError('InvalidAction', `The action ${action} is not served locally`);
  const wanted = parameters.get('StackName');
  if (wanted !== stack.name) return xmlError('ValidationError', `Stack with id ${wanted} does not exist`);
  const outputs = Object.entries(stack.outputs).map(([OutputKey, OutputValue]) =>
    element('member', elements({ OutputKey, OutputValue })),
  );
  const description = elements({
    StackName: stack.name,
    CreationTime: new Date(0).toISOString(),
    StackStatus: 'CREATE_COMPLETE',
  });
  const member = element('member', description + element('Outputs', outputs.join('')));
  return xmlResult(action, element('Stacks', member));
}

/** https://docs.aws.amazon.com/STS/latest/APIReference/API_GetCallerIdentity.html */
export function answerSts({ body }: ManagementRequest): HttpResponse {
  const action = new URLSearchParams(body.toString()).get('Action') ?? '';
  if (action !== 'GetCallerIdentity')
    return xmlError('InvalidAction', `The action ${action} is not served locally`);
  const identity = { Arn: `arn:aws:iam::${accountId}:user/local`, UserId: 'local', Account: accountId };
  return xmlResult(action, elements(identity));
}

/** An error of a service with the SDK's query protocol. */
export function xmlError(Code: string, Message: string): HttpResponse {
  return xml(400, 'ErrorResponse', element('Error', elements({ Type: 'Sender', Code, Message })));
}

function xmlResult(action: string, result: string): HttpResponse {
  return xml(200, `${action}Response`, element(`${action}Result`, result));
}

function xml(status: number, root: string, content: string): HttpResponse {
  const requestId = element('RequestId', crypto.randomUUID());
  const body = Buffer.from(element(root, content + requestId));
  return { status, headers: [['Content-Type', 'text/xml']], body };
}

function elements(texts: Readonly<Record<string, string>>): string {
  return Object.entries(texts)
    .map(([name, text]) => element(name, text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')))
    .join('');
}

function element(name: string, content: string): string {
  return `<${name}>${content}</${name}>`;
}
