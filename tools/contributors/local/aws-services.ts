import { timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { type ApiKey, type ApiKeyStore, type UsagePlan, utcDay } from './api-keys.ts';
import type { Gateway } from './gateway.ts';
import type { HttpResponse } from './http.ts';

/** The calls of AWS that the key tool, the animals tool and their tests make. One endpoint answers for all services. */

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
  readonly gateway: Pick<Gateway, 'place' | 'flushAuthorizerCache'>;
  /** Writes the keys to the data directory; called after every change. */
  readonly saveKeys: () => Promise<void>;
}

interface State extends ApiGatewayState {
  readonly stack: StackDescription;
  readonly database: { readonly endpoint: string };
  /** A page of a browser does not know the session token. */
  readonly credentials: { readonly sessionToken: string };
}

/** @param service that the call is signed for */
export async function callService(
  state: State,
  service: string,
  call: ManagementRequest,
): Promise<HttpResponse> {
  if (!isEqual(call.headers['x-amz-security-token'] ?? '', state.credentials.sessionToken)) {
    const message = 'The call lacks the session token of this run. Use the credentials of the service.';
    return service === 'cloudformation'
      ? xmlError('InvalidClientTokenId', message)
      : jsonError(400, 'UnrecognizedClientException', message);
  }
  switch (service) {
    case 'apigateway':
      return answerApiGateway(state, call);
    case 'cloudformation':
      return answerCloudFormation(state.stack, call);
    case 'dynamodb':
      return forwardToDynamoDb(state.database.endpoint, call);
    default:
      return jsonError(400, 'NotSupported', `The AWS service ${service} is not served locally.`);
  }
}

/** In a time that does not depend on where they differ. */
function isEqual(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}

const statuses = { BadRequestException: 400, NotFoundException: 404, ConflictException: 409 } as const;

/** An error of API Gateway. Its name is that of the SDK's exception. */
export class ApiGatewayError extends Error {
  override readonly name: keyof typeof statuses;

  constructor(name: keyof typeof statuses, message: string) {
    super(message);
    this.name = name;
  }
}

function notFound(what: string): never {
  throw new ApiGatewayError('NotFoundException', `Invalid ${what} identifier specified`);
}

/** Empty text is as none. */
const keyInput = z.object({
  name: z.string().max(1_024, 'Invalid API Key name, can be at most 1024 characters.').default(''),
  description: z.string().exactOptional(),
  enabled: z.boolean().exactOptional(),
  value: z
    .string()
    .regex(/^(?:.{20,})?$/, 'API Key value should be at least 20 characters')
    .max(128, 'API Key value exceeds maximum size of 128 characters')
    .default(''),
});
const planKeyInput = z.object({ keyId: z.string(), keyType: z.literal('API_KEY') });
const day = z.iso.date().transform((text) => Date.parse(text));
const usageQuery = z.object({ keyId: z.string(), startDate: day, endDate: day });
/** https://docs.aws.amazon.com/apigateway/latest/api/API_GetApiKeys.html */
const pageSize = z.coerce.number().int().min(1).max(500).default(25);

export async function answerApiGateway(
  state: ApiGatewayState,
  request: ManagementRequest,
): Promise<HttpResponse> {
  try {
    const response = run({ ...state, ...request });
    if (request.method !== 'GET') await state.saveKeys();
    return response;
  } catch (error) {
    if (error instanceof ApiGatewayError) return jsonError(statuses[error.name], error.name, error.message);
    if (error instanceof z.ZodError) return jsonError(400, 'BadRequestException', error.issues[0]!.message);
    throw error;
  }
}

type Call = ApiGatewayState & ManagementRequest;

/** https://docs.aws.amazon.com/apigateway/latest/api/API_Operations.html */
function run(call: Call): HttpResponse {
  const { keys, method, path, query } = call;
  const segments = path.split('/');
  const [, , id = '', , other = ''] = segments;
  const pattern = segments.map((each, index) => (index === 2 || index === 4 ? 'ID' : each)).join('/');
  switch (`${method} ${pattern}`) {
    case 'POST /apikeys':
      return createKey(call);
    case 'GET /apikeys':
      return page(keys.keys(), query, (key) => shownKey(call, key, query.get('includeValues') === 'true'));
    case 'DELETE /apikeys/ID':
      keys.delete(keyOf(keys, id).id);
      return jsonAnswer(202);
    case 'GET /usageplans/ID/usage':
      return getUsage(call, id);
    case 'GET /usageplans/ID/keys':
      return page(keys.keysOfPlan(id), query, shownMember);
    case 'POST /usageplans/ID/keys':
      return addToPlan(call, id);
    case 'GET /usageplans/ID/keys/ID':
      return jsonAnswer(200, shownMember(memberOf(keys, id, other)));
    case 'DELETE /usageplans/ID/keys/ID':
      keys.unbind(id, memberOf(keys, id, other).id);
      return jsonAnswer(202);
    case 'DELETE /restapis/ID/stages/ID/cache/authorizers':
      if (id !== call.gateway.place.apiId) notFound('API');
      if (other !== call.gateway.place.stage) notFound('stage');
      call.gateway.flushAuthorizerCache();
      return jsonAnswer(202);
    default:
      return jsonError(404, 'UnknownOperationException', `${method} ${path} is not served locally`);
  }
}

function createKey(call: Call): HttpResponse {
  const { keys, body } = call;
  const { name, value, ...given } = keyInput.parse(JSON.parse(body.toString()));
  if (keys.keys().some((key) => key.value === value))
    throw new ApiGatewayError('ConflictException', 'API Key already exists');
  const created = keys.create({ ...given, ...(name && { name }), ...(value && { value }) }, Date.now());
  return jsonAnswer(201, shownKey(call, created, true));
}

/** A key can be in one plan of the stage. */
function addToPlan({ keys, gateway, body }: Call, planId: string) {
  const { apiId, stage } = gateway.place;
  const { keyId } = planKeyInput.parse(JSON.parse(body.toString()));
  const { id } = planOf(keys, planId);
  const key = keyOf(keys, keyId);
  for (const other of keys.plansOfKey(keyId))
    throw new ApiGatewayError(
      'ConflictException',
      other.id === id
        ? 'Usage Plan already has the API Key associated'
        : `Usage Plan ${other.id} and ${id} cannot be associated to the same API Key: both have API Stage ${apiId}:${stage}`,
    );
  keys.bind(id, keyId);
  return jsonAnswer(201, shownMember(key));
}

/** A key that is not in the plan has no counts. */
function getUsage({ keys, query }: Call, planId: string): HttpResponse {
  const { keyId, startDate, endDate } = usageQuery.parse(Object.fromEntries(query));
  const plan = planOf(keys, planId);
  const days: (readonly [used: number, remaining: number])[] = [];
  for (let at = startDate; at <= endDate; at += 86_400_000) days.push(keys.usage(plan, keyId, at));
  const isMember = keys.plansOfKey(keyId).includes(plan);
  return jsonAnswer(200, {
    usagePlanId: planId,
    startDate: utcDay(startDate),
    endDate: utcDay(endDate),
    values: isMember ? { [keyId]: days } : {},
  });
}

function keyOf(keys: ApiKeyStore, id: string): ApiKey {
  return keys.keys().find((key) => key.id === id) ?? notFound('API Key');
}

function planOf(keys: ApiKeyStore, id: string): UsagePlan {
  return keys.plans.find((plan) => plan.id === id) ?? notFound('Usage Plan');
}

function memberOf(keys: ApiKeyStore, planId: string, id: string): ApiKey {
  return keys.keysOfPlan(planId).find((key) => key.id === id) ?? notFound('Usage Plan Key');
}

function shownKey({ keys, gateway }: Call, { createdAt, value, ...rest }: ApiKey, withValue: boolean) {
  const createdDate = Math.floor(createdAt / 1000);
  const { apiId, stage } = gateway.place;
  const stageKeys = keys.plansOfKey(rest.id).map(() => `${apiId}/${stage}`);
  return { ...rest, ...(withValue && { value }), createdDate, lastUpdatedDate: createdDate, stageKeys };
}

function shownMember({ id, value, name }: ApiKey) {
  return { id, type: 'API_KEY', value, name };
}

/** The position is the ID of the last key before it, which stays valid when keys are added or removed. */
function page(
  all: readonly ApiKey[],
  query: URLSearchParams,
  toItem: (key: ApiKey) => unknown,
): HttpResponse {
  const size = pageSize.parse(query.get('limit') ?? undefined);
  const rest = all
    .filter(({ name = '' }) => name.startsWith(query.get('name') ?? ''))
    .filter(({ id }) => id > (query.get('position') ?? ''))
    .toSorted((one, other) => (one.id < other.id ? -1 : 1));
  const items = rest.slice(0, size);
  const position = rest.length > size ? items.at(-1)?.id : undefined;
  return jsonAnswer(200, { item: items.map((item) => toItem(item)), position });
}

export interface StackDescription {
  readonly name: string;
  readonly outputs: Readonly<Record<string, string>>;
}

/** https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_DescribeStacks.html */
export function answerCloudFormation(stack: StackDescription, { body }: ManagementRequest): HttpResponse {
  const parameters = new URLSearchParams(body.toString());
  const [action, wanted] = [parameters.get('Action'), parameters.get('StackName')];
  if (action !== 'DescribeStacks') return xmlError('InvalidAction', `${action} is not served locally`);
  if (wanted !== stack.name) return xmlError('ValidationError', `Stack with id ${wanted} does not exist`);
  const outputs = Object.entries(stack.outputs).map(
    ([key, value]) =>
      `<member><OutputKey>${key}</OutputKey><OutputValue>${escaped(value)}</OutputValue></member>`,
  );
  const description = `<StackName>${stack.name}</StackName><StackStatus>CREATE_COMPLETE</StackStatus>`;
  const created = `<CreationTime>${new Date(0).toISOString()}</CreationTime>`;
  const member = `<member>${description}${created}<Outputs>${outputs.join('')}</Outputs></member>`;
  const result = `<DescribeStacksResult><Stacks>${member}</Stacks></DescribeStacksResult>`;
  return xml(200, `<DescribeStacksResponse>${result}</DescribeStacksResponse>`);
}

/** An error of a service with the SDK's query protocol. */
function xmlError(code: string, message: string): HttpResponse {
  const error = `<Type>Sender</Type><Code>${code}</Code><Message>${escaped(message)}</Message>`;
  return xml(400, `<ErrorResponse><Error>${error}</Error></ErrorResponse>`);
}

function xml(status: number, text: string): HttpResponse {
  return { status, headers: [['Content-Type', 'text/xml']], body: Buffer.from(text) };
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

/** A scan of a large table takes seconds. */
const answerTimeoutMs = 60_000;

/** So that tools need one endpoint. */
async function forwardToDynamoDb(
  endpoint: string,
  { headers, body }: ManagementRequest,
): Promise<HttpResponse> {
  const forwarded = ['authorization', 'content-type', 'x-amz-date', 'x-amz-target'];
  try {
    const response = await fetch(endpoint, {
      method: 'POST',
      headers: forwarded.map((name): [string, string] => [name, headers[name] ?? '']),
      body,
      signal: AbortSignal.timeout(answerTimeoutMs),
    });
    const contentType = response.headers.get('content-type') ?? '';
    const content = Buffer.from(await response.arrayBuffer());
    return { status: response.status, headers: [['Content-Type', contentType]], body: content };
  } catch (error) {
    return jsonError(503, 'ServiceUnavailable', `DynamoDB does not answer: ${String(error)}`);
  }
}
