import type { APIGatewayProxyEvent } from 'aws-lambda';
import { accountId } from '../template/aws.ts';
import type { CallerContext } from './authorizer.ts';
import { isBinary } from './media-types.ts';
import { type GatewayRequest, lastValue } from './request.ts';
import type { RestApi } from './rest-api.ts';

/** `$context`, which is also a function's `requestContext`. */
export type RequestContext = Readonly<Record<string, unknown>>;

export interface Route {
  readonly resourceId: string;
  readonly resourcePath: string;
  readonly pathParameters: Readonly<Record<string, string>>;
}

export interface CallerDetails {
  readonly authorizer?: CallerContext;
  readonly apiKey?: { readonly id: string; readonly value: string };
}

/** https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-mapping-template-reference.html */
export function requestContext(
  request: GatewayRequest,
  api: RestApi,
  route: Route | undefined,
  { authorizer, apiKey }: CallerDetails,
): RequestContext {
  const domainName = lastValue(request.headers, 'host') ?? 'localhost';
  return {
    ...(route && { resourceId: route.resourceId, resourcePath: route.resourcePath }),
    ...(authorizer && { authorizer }),
    httpMethod: request.method,
    extendedRequestId: request.extendedRequestId,
    requestTime: commonLogTime(request.time),
    path: request.fullPath,
    accountId,
    protocol: request.protocol,
    stage: api.stage,
    domainPrefix: domainName.split(/[.:]/, 1)[0],
    requestTimeEpoch: request.time,
    requestId: request.requestId,
    identity: {
      cognitoIdentityPoolId: null,
      accountId: null,
      cognitoIdentityId: null,
      caller: null,
      sourceIp: request.sourceIp,
      principalOrgId: null,
      accessKey: null,
      cognitoAuthenticationType: null,
      cognitoAuthenticationProvider: null,
      userArn: null,
      userAgent: lastValue(request.headers, 'user-agent') ?? null,
      user: null,
      ...(apiKey && { apiKey: apiKey.value, apiKeyId: apiKey.id }),
    },
    domainName,
    deploymentId: api.deploymentId,
    apiId: api.id,
  };
}

/** https://docs.aws.amazon.com/apigateway/latest/developerguide/set-up-lambda-proxy-integrations.html#api-gateway-simple-proxy-for-lambda-input-format */
export function proxyEvent(
  request: GatewayRequest,
  api: RestApi,
  route: Route,
  context: RequestContext,
): Record<keyof APIGatewayProxyEvent, unknown> {
  const { headers, body } = request;
  const base64 = body.length > 0 && isBinary(lastValue(headers, 'content-type'), api.binaryMediaTypes);
  return {
    ...requestParameters(request, api, route, context),
    body: body.length === 0 ? null : body.toString(base64 ? 'base64' : 'utf8'),
    isBase64Encoded: base64,
  };
}

/** The event without the body: also what a REQUEST authorizer gets. */
export function requestParameters(
  { path, method, headers, query }: GatewayRequest,
  { stageVariables }: RestApi,
  route: Route,
  context: RequestContext,
): Record<Exclude<keyof APIGatewayProxyEvent, 'body' | 'isBase64Encoded'>, unknown> {
  return {
    resource: route.resourcePath,
    path,
    httpMethod: method,
    headers: Object.fromEntries(headers),
    multiValueHeaders: grouped(headers),
    queryStringParameters: query.length === 0 ? null : Object.fromEntries(query),
    multiValueQueryStringParameters: query.length === 0 ? null : grouped(query),
    pathParameters: Object.keys(route.pathParameters).length === 0 ? null : route.pathParameters,
    stageVariables,
    requestContext: context,
  };
}

function grouped(entries: readonly (readonly [string, string])[]): Record<string, string[]> {
  const groups = Map.groupBy(entries, ([name]) => name);
  return Object.fromEntries([...groups].map(([name, group]) => [name, group.map(([, value]) => value)]));
}

/** `20/Feb/2018:22:48:57 +0000` */
function commonLogTime(time: number): string {
  const [, day, month, year, clock] = new Date(time).toUTCString().split(' ');
  return `${day}/${month}/${year}:${clock} +0000`;
}
