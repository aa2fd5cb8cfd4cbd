import { randomBytes, randomUUID } from 'node:crypto';
import type { APIGatewayProxyEvent } from 'aws-lambda';
import { type CallerContext, toCallerContext } from '../../functions/access/caller.ts';
import { customPlanCeiling, limitsOf, type Plan } from '../../functions/access/plans.ts';
import { allowedMethods } from '../../functions/operations.ts';

export interface HttpRequest {
  readonly method?: string;
  /** The path of the API's resource, such as `/pets/{petId}`. */
  readonly resource: string;
  /** The path as the client sent it, below the stage. The resource when absent. */
  readonly path?: string;
  readonly pathParameters?: Readonly<Record<string, string>>;
  /** `[name, value]`, each as sent, duplicates included. */
  readonly query?: readonly (readonly [string, string])[];
  readonly headers?: readonly (readonly [string, string])[];
  readonly body?: string | Buffer | null;
  readonly caller: CallerContext;
}

export const domainName = 'api.example.com';

/** The authorizer's result for a key of the Free plan. */
export const freeCaller = {
  keyHash: 'a'.repeat(64),
  keyId: 'key_1',
  plan: 'free',
  perMinute: 60,
  perDay: 1_000,
  expiresAt: 0,
} as const satisfies CallerContext;

/** The authorizer's result for a new key of a plan. Of the custom plan it has the highest limits. */
export function newCaller(plan: Plan): CallerContext {
  const keyHash = randomBytes(32).toString('hex');
  const keyId = `key_${keyHash.slice(0, 8)}`;
  const limits = limitsOf(plan) ?? customPlanCeiling;
  const caller = { keyHash, keyId, plan, limits, expiresAt: 0 };
  return toCallerContext(caller, Math.floor(Date.now() / 1000), 60);
}

/**
 * The event of API Gateway's proxy integration for a request that the authorizer let pass:
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/set-up-lambda-proxy-integrations.html
 */
export function proxyEvent({
  method = 'GET',
  resource,
  path = resource,
  pathParameters,
  query = [],
  headers = [],
  body = null,
  caller,
}: HttpRequest): APIGatewayProxyEvent {
  const sent = [...headers, ['Host', domainName], ['X-Forwarded-Proto', 'https']] as const;
  const identity = {
    accessKey: null,
    accountId: null,
    apiKey: null,
    apiKeyId: null,
    caller: null,
    clientCert: null,
    cognitoAuthenticationProvider: null,
    cognitoAuthenticationType: null,
    cognitoIdentityId: null,
    cognitoIdentityPoolId: null,
    principalOrgId: null,
    sourceIp: '192.0.2.1',
    user: null,
    userAgent: 'test',
    userArn: null,
  };
  return {
    resource,
    path,
    httpMethod: method,
    // The single form has the last value.
    headers: Object.fromEntries(sent),
    multiValueHeaders: multiValue(sent),
    queryStringParameters: query.length === 0 ? null : Object.fromEntries(query),
    multiValueQueryStringParameters: query.length === 0 ? null : multiValue(query),
    pathParameters: pathParameters === undefined ? null : { ...pathParameters },
    stageVariables: null,
    body: Buffer.isBuffer(body) ? body.toString('base64') : body,
    isBase64Encoded: Buffer.isBuffer(body),
    requestContext: {
      accountId: '123456789012',
      apiId: 'abcdef1234',
      // API Gateway hands every value on as a string.
      authorizer: Object.fromEntries(Object.entries(caller).map(([name, value]) => [name, String(value)])),
      domainName,
      domainPrefix: 'api',
      extendedRequestId: 'JKJaXmPLvHcESHA=',
      httpMethod: method,
      identity,
      path: `/v1${path}`,
      protocol: 'HTTP/1.1',
      requestId: randomUUID(),
      requestTime: '01/Jul/2026:12:00:00 +0000',
      requestTimeEpoch: Date.now(),
      resourceId: 'abc123',
      resourcePath: resource,
      stage: 'v1',
    },
  };
}

function multiValue(pairs: readonly (readonly [string, string])[]): Record<string, string[]> {
  const values = new Map<string, string[]>();
  for (const [name, value] of pairs) values.set(name, [...(values.get(name) ?? []), value]);
  return Object.fromEntries(values);
}

/** The resource that API Gateway finds for a path, and its parameters, which it passes on as they were sent. */
export function routeOf(path: string): Pick<HttpRequest, 'resource' | 'pathParameters'> {
  for (const resource of ['/', ...allowedMethods().keys()]) {
    const pattern = resource.replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)');
    const found = new RegExp(`^${pattern}$`).exec(path);
    if (found !== null) return { resource, ...(found.groups && { pathParameters: { ...found.groups } }) };
  }
  return { resource: '/{proxy+}', pathParameters: { proxy: path.slice(1) } };
}
