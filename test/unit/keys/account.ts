import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { Refusal } from 'dynamodb-interleavings';
import { decideKey, findKey, type KeyDecision } from '../../../functions/access/key-records.ts';
import { hashOfKey } from '../../../functions/access/keys.ts';
import { planNames } from '../../../functions/access/plans.ts';
import { answerApiGateway } from '../../../packages/cdk-offline/src/management/api-gateway.ts';
import { answerCloudFormation } from '../../../packages/cdk-offline/src/management/query-services.ts';
import { jsonAnswer, jsonError } from '../../../packages/cdk-offline/src/management/answers.ts';
import { ApiKeyStore } from '../../../packages/cdk-offline/src/usage-plans/store.ts';
import { documentClient } from '../../../tools/operators/command-line/stack.ts';
import { readUsages } from '../../../tools/operators/keys/key-usage.ts';
import { gatewayValueOf, isValid } from '../../../tools/operators/keys/records.ts';
import { statusOf } from '../../../tools/operators/keys/views.ts';
import { keyTool } from '../../support/key-tool.ts';
import { serviceTables } from '../../support/table-shapes.ts';
import type { RunOptions } from '../../support/run-in-process.ts';

/**
 * What happens to a call. `lost` is executed, and its answer does not arrive; `replaced` is executed, and a page of a proxy
 * arrives; `dropped` is not executed.
 */
export type Fate =
  'passed' | 'dropped' | 'lost' | 'replaced' | 'unavailable' | 'throttled' | 'conflict' | 'not found';

const credentials = { accessKeyId: 'local', secretAccessKey: 'local', sessionToken: 'local' };
const proxyPage = '<html><body>Sign in<br></body></html>';

/**
 * An account of AWS for the key tool, in this process: API Gateway is that of cdk-offline, and the tables are in memory. The
 * network to it is as bad as `network.fateOf` says.
 */
export async function newAccount() {
  const place = { apiId: 'api', stage: 'v1' };
  const keys = new ApiKeyStore();
  const unlimited = { description: undefined, throttle: undefined, quota: undefined, apiStages: [place] };
  keys.setPlans(planNames.map((name) => ({ id: name, name, ...unlimited })));
  /** What the authorizer has cached, by hash. */
  const granted = new Map<string, KeyDecision>();
  const gateway = {
    keys,
    restApiId: place.apiId,
    stage: place.stage,
    flushAuthorizerCache: () => granted.clear(),
    save: async () => {},
  };
  const plans = planNames.map((name) => [`UsagePlanId${name[0]!.toUpperCase()}${name.slice(1)}`, name]);
  const outputs = {
    RestApiId: place.apiId,
    ApiKeysTableName: 'ApiKeys',
    RateLimitsTableName: 'RateLimits',
    ...Object.fromEntries(plans),
  };
  const stack = { name: 'AnimalStore-local', id: 'local', createdAt: 0, outputs };
  const tables = serviceTables(Date.now);
  const network: { fateOf: (operation: string) => Fate | Promise<Fate> } = { fateOf: () => 'passed' };
  const execute = (incoming: IncomingMessage, operation: string, body: Buffer) => {
    if (incoming.headers['x-amz-target'] !== undefined)
      return answerDynamoDb(() => tables.call(operation, JSON.parse(body.toString()) as object));
    const [path = '', query] = (incoming.url ?? '').split('?');
    const headers = incoming.headers as Readonly<Record<string, string>>;
    const given = { method: incoming.method ?? '', path, query: new URLSearchParams(query), headers, body };
    return operation === 'cloudformation'
      ? answerCloudFormation(stack, given)
      : answerApiGateway(gateway, given);
  };
  const handle = async (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const body = await buffer(incoming);
    const operation = operationOf(incoming);
    const fate = await network.fateOf(operation);
    if (fate === 'dropped') return outgoing.destroy();
    const isExecuted = fate === 'passed' || fate === 'lost' || fate === 'replaced';
    const answer = isExecuted ? await execute(incoming, operation, body) : refusal(fate, operation);
    if (fate === 'lost') return outgoing.destroy();
    if (fate === 'replaced') return outgoing.setHeader('Content-Type', 'text/html').end(proxyPage);
    return outgoing.writeHead(answer.status, answer.headers.flat()).end(answer.body);
  };
  const server = createServer((incoming, outgoing) => {
    handle(incoming, outgoing).catch(() => outgoing.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = documentClient(new DynamoDBClient({ endpoint, region: 'us-east-1', credentials }));
  const call = async (key: string): Promise<number> => {
    const keyHash = hashOfKey(key);
    const now = Math.floor(Date.now() / 1000);
    const decision =
      granted.get(keyHash) ?? decideKey(await findKey({ client, tableName: 'ApiKeys' }, keyHash), now);
    if (decision.kind === 'denied') return 401;
    granted.set(keyHash, decision);
    return keys.meter(decision.gatewayValue, place, Date.now()).outcome === 'invalid' ? 401 : 200;
  };
  /** As after the 60 s of the authorizer's cache. */
  const forgetGranted = () => granted.clear();
  const close = () => void server.close();
  const tool = keyTool(() => ({ endpoint, credentials }), call);

  /** What a command changes of each key, newest first, and the API Gateway keys that no valid key uses. */
  async function stateOf(owner: string) {
    const service = await tool.openLocal();
    const now = service.now();
    const records = await tool.recordsOf(service, owner);
    const hashes = records.map(({ keyHash }) => keyHash);
    const usages = await readUsages(service.limitTable, hashes);
    const gatewayKeys = await tool.gatewayKeysOf(service, owner);
    const names = new Map(gatewayKeys.map(({ value, name = '' }) => [value, name]));
    const found = records.map((key, index) => {
      const valid = isValid(key, now);
      const isInGateway = valid && names.has(gatewayValueOf(key));
      const isReplaced = key.replacedBy !== undefined;
      return { plan: key.plan, isReplaced, status: statusOf(key, usages[index]!, now), isInGateway };
    });
    for (const key of records) if (isValid(key, now)) names.delete(gatewayValueOf(key));
    return { keys: found, orphans: [...names.values()] };
  }

  /** Runs the tool over a network. */
  async function overNetwork(
    args: readonly string[],
    fateOf: (operation: string) => Fate | Promise<Fate>,
    options?: RunOptions,
  ) {
    network.fateOf = fateOf;
    try {
      return await tool.keysLocal(args, options);
    } finally {
      network.fateOf = () => 'passed';
    }
  }

  return { network, call, forgetGranted, close, overNetwork, stateOf, ...tool };
}

function answerDynamoDb(call: () => object) {
  try {
    return jsonAnswer(200, call());
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { type, message, members } = error;
    return jsonAnswer(400, { __type: `com.amazonaws.dynamodb.v20120810#${type}`, message, ...members });
  }
}

/** `POST /apikeys`, `TransactWriteItems` or `cloudformation` */
function operationOf({ method, url = '', headers }: IncomingMessage): string {
  const target = String(headers['x-amz-target'] ?? '').split('.')[1];
  const service = /\/([a-z]+)\/aws4_request/.exec(headers.authorization ?? '')?.[1] ?? '';
  return target ?? (service === 'apigateway' ? `${method} ${url.split('?')[0]}` : service);
}

function refusal(fate: Fate, operation: string) {
  if (fate === 'unavailable') return jsonError(503, 'ServiceUnavailableException', 'Service Unavailable');
  const isGateway = operation.includes('/');
  if (isGateway && fate === 'conflict')
    return jsonError(
      409,
      'ConflictException',
      'Unable to complete operation due to concurrent modification. Please try again later.',
    );
  if (isGateway && fate === 'not found')
    return jsonError(404, 'NotFoundException', 'Invalid API Key identifier specified');
  if (isGateway) return jsonError(429, 'TooManyRequestsException', 'Too Many Requests');
  if (operation !== 'cloudformation') return jsonError(400, 'ThrottlingException', 'Rate exceeded');
  const error = '<Type>Sender</Type><Code>Throttling</Code><Message>Rate exceeded</Message>';
  const body = Buffer.from(`<ErrorResponse><Error>${error}</Error></ErrorResponse>`);
  return { status: 400, headers: [], body };
}
