import { z } from 'zod';
import type { FunctionDefinition, Functions } from '../lambda/function-definition.ts';
import { TemplateError } from '../template/intrinsics.ts';
import { flag, scalar, unsupported } from '../template/schema.ts';
import type { Stack, StackResource } from '../template/stack.ts';
import type { GatewayResponse } from './gateway-responses.ts';
import { type MockIntegration, mockProperties, readMock } from './mock.ts';
import { wholeText } from './pattern.ts';
import { Models, type RequestValidation } from './request-validation.ts';

/** A REST API with its stage. */
export interface RestApi {
  readonly id: string;
  readonly stage: string;
  readonly deploymentId: string;
  readonly stageVariables: Readonly<Record<string, string>> | null;
  readonly apiKeySource: 'HEADER' | 'AUTHORIZER';
  readonly binaryMediaTypes: readonly string[];
  readonly gatewayResponses: ReadonlyMap<string, GatewayResponse>;
  readonly resources: readonly ApiResource[];
  /** One line for each reason why routes answer 501. */
  readonly unsupported: readonly string[];
}

export interface ApiResource {
  readonly id: string;
  /** For example `/things/{id}`. */
  readonly path: string;
  /** By HTTP method, or `ANY`. */
  readonly methods: ReadonlyMap<string, Method>;
}

export interface Method {
  readonly authorizer: LambdaAuthorizer | undefined;
  readonly apiKeyRequired: boolean;
  readonly validation: RequestValidation | undefined;
  readonly integration: Integration;
}

export type Integration =
  | { readonly kind: 'function'; readonly function: FunctionDefinition; readonly timeoutMs: number }
  | { readonly kind: 'mock'; readonly mock: MockIntegration }
  | { readonly kind: 'unsupported'; readonly reason: string };

export interface LambdaAuthorizer {
  readonly type: 'TOKEN' | 'REQUEST';
  /** Such as `method.request.header.Authorization`. The function is not invoked when a value is missing or empty. */
  readonly identitySources: readonly string[];
  /** The function is not invoked for a token that does not match. */
  readonly validation: RegExp | undefined;
  /** 0 to 3600; 0 disables the cache. */
  readonly cacheSeconds: number;
  readonly function: FunctionDefinition;
}

const restApi = z.object({
  ApiKeySourceType: z.enum(['HEADER', 'AUTHORIZER']).default('HEADER'),
  BinaryMediaTypes: z.array(z.string()).default([]),
  Body: unsupported('imported OpenAPI definitions are'),
  BodyS3Location: unsupported('imported OpenAPI definitions are'),
  MinimumCompressionSize: z.unknown().optional(),
  Policy: z.unknown().optional(),
});
const stage = z.object({
  DeploymentId: z.string().default(''),
  StageName: z.string(),
  Variables: z.record(z.string(), scalar).optional(),
  MethodSettings: z
    .array(z.object({ ThrottlingRateLimit: z.unknown().optional(), CachingEnabled: flag.optional() }))
    .default([]),
  CanarySetting: z.unknown().optional(),
});
const apiResource = z.object({ ParentId: z.string(), PathPart: z.string() });
const methodKey = z.object({
  ResourceId: z.string(),
  HttpMethod: z.string().toUpperCase(),
});
const method = z.object({
  AuthorizationType: z.string().default('NONE'),
  AuthorizerId: z.string().default(''),
  ApiKeyRequired: flag.default(false),
  RequestValidatorId: z.string().optional(),
  RequestModels: z.record(z.string(), z.string()).default({}),
  RequestParameters: z.record(z.string(), flag).default({}),
  Integration: z
    .object({
      Type: z.string(),
      IntegrationHttpMethod: z.string().optional(),
      Uri: z.string().optional(),
      Credentials: z.string().optional(),
      TimeoutInMillis: z.number().default(29_000),
    })
    .optional(),
});
const mockMethod = z.object({ Integration: mockProperties });
const authorizer = z.object({
  Type: z.enum(['TOKEN', 'REQUEST'], 'only TOKEN and REQUEST authorizers are supported by cdk-offline'),
  AuthorizerUri: z.string(),
  AuthorizerCredentials: z.string().optional(),
  AuthorizerResultTtlInSeconds: z.number().min(0).max(3600).default(300),
  IdentitySource: z.string().optional(),
  IdentityValidationExpression: z.string().optional(),
});
const requestValidator = z.object({
  ValidateRequestBody: flag.default(false),
  ValidateRequestParameters: flag.default(false),
});
const schema = z.record(z.string(), z.unknown());
const model = z.object({
  Name: z.string().optional(),
  Schema: z.union([
    schema,
    z
      .string()
      .transform((text): unknown => JSON.parse(text))
      .pipe(schema),
  ]),
});
const gatewayResponse = z.object({
  ResponseType: z.string(),
  StatusCode: z.union([z.string(), z.number()]).transform(Number).optional(),
  ResponseParameters: z.record(z.string(), z.string()).default({}),
  ResponseTemplates: z.record(z.string(), z.string()).optional(),
});

/**
 * The REST API of a stack.
 *
 * @param name the API's logical ID or name, for a stack with several
 * @param notes gets one line for each setting that has no effect here
 * @throws TemplateError when there is not exactly one such API with one stage, or a setting is not supported
 */
export async function readRestApi(
  stack: Stack,
  name: string | undefined,
  functions: Functions,
  notes: string[],
): Promise<RestApi> {
  const api = chooseApi(stack, name);
  const inApi: ResourcesInApi = (type) => stack.resources(type).filter((one) => belongsTo(api, one));
  const stageResource = only(
    inApi('AWS::ApiGateway::Stage'),
    `${stack.name}: the API ${api.logicalId} must have one stage`,
  );
  const settings = api.read(restApi);
  const deployed = stageResource.read(stage);
  const note = (setting: unknown, { logicalId }: StackResource, text: string): void => {
    if (setting !== undefined && setting !== false) notes.push(`${logicalId}: ${text} by cdk-offline`);
  };
  note(settings.MinimumCompressionSize, api, 'responses are not compressed');
  note(settings.Policy, api, 'the resource policy is not enforced');
  note(deployed.CanarySetting, stageResource, 'the canary of the stage is not served');
  const throttled = deployed.MethodSettings.some(
    ({ ThrottlingRateLimit }) => ThrottlingRateLimit !== undefined,
  );
  note(throttled, stageResource, 'usage plans are enforced, but the throttling of the stage is not enforced');
  const cached = deployed.MethodSettings.some(({ CachingEnabled }) => CachingEnabled);
  note(cached, stageResource, 'the cache of the stage is not used');

  const paths = readPaths(inApi, api.attribute('RootResourceId'));
  const authorizers = await readAuthorizers(inApi, functions);
  const methods = await readMethods(inApi, functions, authorizers, readValidators(inApi, api.physicalId));
  return {
    id: api.physicalId,
    stage: deployed.StageName,
    deploymentId: deployed.DeploymentId,
    stageVariables: deployed.Variables ?? null,
    apiKeySource: settings.ApiKeySourceType,
    binaryMediaTypes: settings.BinaryMediaTypes,
    gatewayResponses: readGatewayResponses(inApi),
    resources: [...paths].map(([id, path]) => ({ id, path, methods: methods.get(id) ?? new Map() })),
    unsupported: describeUnsupported(paths, methods),
  };
}

type Methods = ReadonlyMap<string, ReadonlyMap<string, Method>>;

function describeUnsupported(paths: ReadonlyMap<string, string>, methods: Methods): string[] {
  const routes = [...methods].flatMap(([id, byVerb]) =>
    [...byVerb].flatMap(([verb, { integration }]) =>
      integration.kind === 'unsupported'
        ? [{ route: `${verb} ${paths.get(id) ?? id}`, reason: integration.reason }]
        : [],
    ),
  );
  const byReason = Map.groupBy(routes, ({ reason }) => reason);
  return [...byReason].map(
    ([reason, same]) => `${same.map(({ route }) => route).join(', ')} answers 501: ${reason}`,
  );
}

/** The resources of a type that belong to the API. */
type ResourcesInApi = (type: string) => readonly StackResource[];

const ownedByApi = z.object({ RestApiId: z.string().optional() });

function belongsTo(api: StackResource, resource: StackResource): boolean {
  const { RestApiId } = resource.read(ownedByApi);
  return RestApiId === undefined || RestApiId === api.physicalId;
}

/** What a stack without a REST API may answer requests with. */
const otherApis: Readonly<Record<string, string>> = {
  'AWS::ApiGatewayV2::Api': 'HTTP and WebSocket APIs',
  'AWS::Lambda::Url': 'Function URLs',
  'AWS::ElasticLoadBalancingV2::LoadBalancer': 'Load balancers',
  'AWS::AppSync::GraphQLApi': 'GraphQL APIs',
  'AWS::CloudFormation::Stack': 'Nested stacks',
};

const namedApi = z.object({ Name: z.unknown() });

function chooseApi(stack: Stack, name: string | undefined): StackResource {
  const all = stack.resources('AWS::ApiGateway::RestApi');
  const wanted = all.filter(
    (api) => name === undefined || api.logicalId === name || api.read(namedApi).Name === name,
  );
  if (all.length === 0) {
    const others = Object.entries(otherApis).flatMap(([type, what]) => {
      const found = stack.types.get(type);
      return found === undefined ? [] : [` ${what} are not supported: ${found.join(', ')}.`];
    });
    throw new TemplateError(`${stack.name} has no REST API.${others.join('')}`);
  }
  return only(
    wanted.length === 0 ? all : wanted,
    `${stack.name} has several REST APIs: choose one with --api`,
  );
}

function only(found: readonly StackResource[], problem: string): StackResource {
  if (found[0] !== undefined && found.length === 1) return found[0];
  const names = found.map(({ logicalId }) => logicalId).join(', ');
  throw new TemplateError(`${problem} (there is ${names === '' ? 'none' : names})`);
}

/** The paths of all resources by their IDs. */
function readPaths(inApi: ResourcesInApi, rootId: string): ReadonlyMap<string, string> {
  const parts = new Map(
    inApi('AWS::ApiGateway::Resource').map((resource) => [resource.physicalId, resource.read(apiResource)]),
  );
  const pathOf = (id: string): string => {
    const part = parts.get(id);
    return part === undefined ? '' : `${pathOf(part.ParentId)}/${part.PathPart}`;
  };
  return new Map([[rootId, '/'], ...[...parts.keys()].map((id) => [id, pathOf(id)] as const)]);
}

/** Lambda authorizers by their IDs, or why one is not supported. */
type Authorizers = ReadonlyMap<string, LambdaAuthorizer | { readonly reason: string }>;

async function readAuthorizers(inApi: ResourcesInApi, functions: Functions): Promise<Authorizers> {
  const read = inApi('AWS::ApiGateway::Authorizer').map(
    async (resource) =>
      [resource.physicalId, await orReason(() => readAuthorizer(resource, functions))] as const,
  );
  return new Map(await Promise.all(read));
}

async function readAuthorizer(resource: StackResource, functions: Functions): Promise<LambdaAuthorizer> {
  const settings = resource.read(authorizer);
  const { IdentityValidationExpression: expression } = settings;
  return {
    type: settings.Type,
    identitySources: readIdentitySources(resource, settings),
    validation: expression === undefined ? undefined : wholeText(expression, resource.logicalId),
    cacheSeconds: settings.AuthorizerResultTtlInSeconds,
    function: await functions.ofUri(settings.AuthorizerUri, settings.AuthorizerCredentials),
  };
}

/** What is not supported does not stop the API. */
async function orReason<T>(read: () => Promise<T>): Promise<T | { readonly reason: string }> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof TemplateError) return { reason: error.message.replaceAll(/\s+/g, ' ') };
    throw error;
  }
}

const identitySource =
  /^(?:method\.request\.(?:header|querystring)\.[\w-]+|stageVariables\.\w+|context\.[\w.]+)$/;

/** https://docs.aws.amazon.com/apigateway/latest/api/API_Authorizer.html */
function readIdentitySources(
  { logicalId }: StackResource,
  { Type, IdentitySource, AuthorizerResultTtlInSeconds }: z.infer<typeof authorizer>,
): string[] {
  const text = IdentitySource ?? (Type === 'TOKEN' ? 'method.request.header.Authorization' : '');
  const sources = text.split(',').flatMap((source) => (source.trim() === '' ? [] : [source.trim()]));
  const unknown = sources.find((source) => !identitySource.test(source));
  if (unknown !== undefined) {
    throw new TemplateError(`${logicalId}: the identity source ${unknown} is not supported by cdk-offline`);
  }
  if (Type === 'TOKEN' ? sources.length !== 1 : sources.length === 0 && AuthorizerResultTtlInSeconds > 0) {
    throw new TemplateError(`${logicalId}: a TOKEN authorizer, or a cache, needs an identity source`);
  }
  return sources;
}

async function readMethods(
  inApi: ResourcesInApi,
  functions: Functions,
  authorizers: Authorizers,
  validationOf: ValidationOf,
): Promise<Methods> {
  const byResource = new Map<string, Map<string, Method>>();
  for (const resource of inApi('AWS::ApiGateway::Method')) {
    const { ResourceId, HttpMethod } = resource.read(methodKey);
    const read = await orReason(() => readMethod(resource, functions, authorizers, validationOf));
    const methods = byResource.get(ResourceId) ?? new Map<string, Method>();
    byResource.set(ResourceId, methods);
    methods.set(HttpMethod, 'reason' in read ? unsupportedMethod(read.reason) : read);
  }
  return byResource;
}

/** What a method's validator checks. @throws TemplateError when a model cannot be used */
type ValidationOf = (settings: z.infer<typeof method>) => RequestValidation | undefined;

function readValidators(inApi: ResourcesInApi, apiId: string): ValidationOf {
  const validators = new Map(
    inApi('AWS::ApiGateway::RequestValidator').map((resource) => [
      resource.physicalId,
      resource.read(requestValidator),
    ]),
  );
  // Most APIs have none, and schemas take time to compile.
  let models: Models | undefined;
  const readModels = () =>
    new Models(
      apiId,
      inApi('AWS::ApiGateway::Model').map((resource) => {
        const { Name, Schema } = resource.read(model);
        return { names: [resource.physicalId, ...(Name === undefined ? [] : [Name])], schema: Schema };
      }),
    );
  return ({ RequestValidatorId, RequestParameters, RequestModels }) => {
    const validator = validators.get(RequestValidatorId ?? '');
    if (validator === undefined) return undefined;
    const required = Object.entries(RequestParameters).flatMap(([name, isRequired]) =>
      isRequired ? [name] : [],
    );
    const bodies = validator.ValidateRequestBody ? Object.entries(RequestModels) : [];
    return {
      requiredParameters: validator.ValidateRequestParameters ? required : [],
      bodies: new Map(
        bodies.map(([type, name]) => [type.toLowerCase(), (models ??= readModels()).validator(name)]),
      ),
    };
  };
}

function unsupportedMethod(reason: string): Method {
  const integration = { kind: 'unsupported', reason } as const;
  return { authorizer: undefined, apiKeyRequired: false, validation: undefined, integration };
}

/** @throws TemplateError when its kind of authorization or integration is not supported */
async function readMethod(
  resource: StackResource,
  functions: Functions,
  authorizers: Authorizers,
  validationOf: ValidationOf,
): Promise<Method> {
  const settings = resource.read(method);
  const { AuthorizationType, AuthorizerId, Integration, ApiKeyRequired } = settings;
  const authorizedBy = AuthorizationType === 'CUSTOM' ? authorizers.get(AuthorizerId) : undefined;
  if (authorizedBy !== undefined && 'reason' in authorizedBy) throw new TemplateError(authorizedBy.reason);
  if (AuthorizationType !== 'NONE' && authorizedBy === undefined) {
    throw new TemplateError(`authorization by ${AuthorizationType} is not supported by cdk-offline`);
  }
  return {
    authorizer: authorizedBy,
    apiKeyRequired: ApiKeyRequired,
    validation: validationOf(settings),
    integration: await readIntegration(resource, Integration, functions),
  };
}

async function readIntegration(
  resource: StackResource,
  integration: z.infer<typeof method>['Integration'],
  functions: Functions,
): Promise<Integration> {
  if (integration?.Type === 'MOCK') {
    return { kind: 'mock', mock: readMock(resource.read(mockMethod).Integration) };
  }
  if (integration?.Type !== 'AWS_PROXY' || integration.Uri === undefined) {
    const target = integration?.Uri === undefined ? '' : ` with ${targetOf(integration.Uri)}`;
    throw new TemplateError(
      `integrations of type ${integration?.Type}${target} are not supported by cdk-offline`,
    );
  }
  if (integration.Uri.endsWith('/response-streaming-invocations')) {
    throw new TemplateError('streamed responses of functions are not supported by cdk-offline');
  }
  if (integration.IntegrationHttpMethod !== 'POST') {
    throw new TemplateError('IntegrationHttpMethod must be POST for a function');
  }
  return {
    kind: 'function',
    function: await functions.ofUri(integration.Uri, integration.Credentials),
    timeoutMs: integration.TimeoutInMillis,
  };
}

/** The service and action of an integration with AWS, such as `sqs (path/123456789012/jobs)`, else the URI. */
function targetOf(uri: string): string {
  const [, service, action] = /^arn:[^:]+:apigateway:[^:]*:(?:[\w-]+\.)?([\w-]+):(.+)$/.exec(uri) ?? [];
  if (service === undefined) return uri;
  return service === 'lambda' ? 'a function' : `${service} (${action})`;
}

function readGatewayResponses(inApi: ResourcesInApi): ReadonlyMap<string, GatewayResponse> {
  return new Map(
    inApi('AWS::ApiGateway::GatewayResponse').map((resource) => {
      const { ResponseType, StatusCode, ResponseParameters, ResponseTemplates } =
        resource.read(gatewayResponse);
      return [
        ResponseType,
        { status: StatusCode, parameters: ResponseParameters, templates: ResponseTemplates },
      ];
    }),
  );
}
