import { z } from 'zod';
import type { FunctionDefinition, Functions } from '../lambda/definition.ts';
import { TemplateError } from '../template/intrinsics.ts';
import { flag, scalar, unsupported } from '../template/schema.ts';
import type { Stack, StackResource } from '../template/stack.ts';
import type { GatewayResponse } from './gateway-responses.ts';

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
  /** `undefined` when integrations of this kind are not supported. */
  readonly integration: { readonly function: FunctionDefinition; readonly timeoutMs: number } | undefined;
}

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
const method = z.object({
  ResourceId: z.string(),
  HttpMethod: z.string().toUpperCase(),
  AuthorizationType: z.string().default('NONE'),
  AuthorizerId: z.string().default(''),
  ApiKeyRequired: flag.default(false),
  RequestValidatorId: z.unknown().optional(),
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
const authorizer = z.object({
  Type: z.enum(['TOKEN', 'REQUEST'], 'only TOKEN and REQUEST authorizers are supported by cdk-offline'),
  AuthorizerUri: z.string(),
  AuthorizerCredentials: z.string().optional(),
  AuthorizerResultTtlInSeconds: z.number().min(0).max(3600).default(300),
  IdentitySource: z.string().optional(),
  IdentityValidationExpression: z.string().optional(),
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
 * @param notes gets one line for each setting that has no effect here
 * @throws TemplateError when there is not exactly one API with one stage, or a setting is not supported
 */
export async function readRestApi(stack: Stack, functions: Functions, notes: string[]): Promise<RestApi> {
  const api = only(stack, 'AWS::ApiGateway::RestApi');
  const stageResource = only(stack, 'AWS::ApiGateway::Stage');
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

  const authorizers = await readAuthorizers(stack, functions);
  const methods = await readMethods(stack, functions, authorizers, note);
  return {
    id: api.physicalId,
    stage: deployed.StageName,
    deploymentId: deployed.DeploymentId,
    stageVariables: deployed.Variables ?? null,
    apiKeySource: settings.ApiKeySourceType,
    binaryMediaTypes: settings.BinaryMediaTypes,
    gatewayResponses: readGatewayResponses(stack),
    resources: [...readPaths(stack, api.attribute('RootResourceId'))].map(([id, path]) => ({
      id,
      path,
      methods: methods.get(id) ?? new Map(),
    })),
  };
}

function only(stack: Stack, type: string): StackResource {
  const found = stack.resources(type);
  if (found[0] !== undefined && found.length === 1) return found[0];
  throw new TemplateError(`${stack.name} must have exactly one ${type} (it has ${found.length})`);
}

/** The paths of all resources by their IDs. */
function readPaths(stack: Stack, rootId: string): ReadonlyMap<string, string> {
  const parts = new Map(
    stack
      .resources('AWS::ApiGateway::Resource')
      .map((resource) => [resource.physicalId, resource.read(apiResource)]),
  );
  const pathOf = (id: string): string => {
    const part = parts.get(id);
    return part === undefined ? '' : `${pathOf(part.ParentId)}/${part.PathPart}`;
  };
  return new Map([[rootId, '/'], ...[...parts.keys()].map((id) => [id, pathOf(id)] as const)]);
}

async function readAuthorizers(
  stack: Stack,
  functions: Functions,
): Promise<ReadonlyMap<string, LambdaAuthorizer>> {
  const read = stack.resources('AWS::ApiGateway::Authorizer').map(async (resource) => {
    const { logicalId, physicalId: id } = resource;
    const settings = resource.read(authorizer);
    const identitySources = readIdentitySources(resource, settings);
    const expression = settings.IdentityValidationExpression;
    const lambdaAuthorizer: LambdaAuthorizer = {
      type: settings.Type,
      identitySources,
      validation: expression === undefined ? undefined : toRegExp(logicalId, expression),
      cacheSeconds: settings.AuthorizerResultTtlInSeconds,
      function: await functions.ofUri(settings.AuthorizerUri, settings.AuthorizerCredentials),
    };
    return [id, lambdaAuthorizer] as const;
  });
  return new Map(await Promise.all(read));
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

/** API Gateway matches the whole token. */
function toRegExp(logicalId: string, expression: string): RegExp {
  try {
    return new RegExp(`^(?:${expression})$`);
  } catch (error) {
    throw new TemplateError(`${logicalId}: ${String(error)}`, { cause: error });
  }
}

async function readMethods(
  stack: Stack,
  functions: Functions,
  authorizers: ReadonlyMap<string, LambdaAuthorizer>,
  note: (setting: unknown, resource: StackResource, text: string) => void,
): Promise<ReadonlyMap<string, ReadonlyMap<string, Method>>> {
  const byResource = new Map<string, Map<string, Method>>();
  for (const resource of stack.resources('AWS::ApiGateway::Method')) {
    const { AuthorizationType, AuthorizerId, Integration, ...settings } = resource.read(method);
    const authorizedBy = AuthorizationType === 'CUSTOM' ? authorizers.get(AuthorizerId) : undefined;
    if (AuthorizationType !== 'NONE' && authorizedBy === undefined) {
      throw new TemplateError(
        `${resource.logicalId}: authorization by ${AuthorizationType} is not supported by cdk-offline`,
      );
    }
    note(settings.RequestValidatorId, resource, 'request validators are not run');
    const uri = Integration?.Type === 'AWS_PROXY' ? Integration.Uri : undefined;
    let integration: Method['integration'];
    if (Integration === undefined || uri === undefined) {
      note(true, resource, `an integration of type ${Integration?.Type} answers 500 and is not supported`);
    } else if (Integration.IntegrationHttpMethod === 'POST') {
      const target = await functions.ofUri(uri, Integration.Credentials);
      integration = { function: target, timeoutMs: Integration.TimeoutInMillis };
    } else {
      throw new TemplateError(`${resource.logicalId}: IntegrationHttpMethod must be POST for a function`);
    }
    const methods = byResource.get(settings.ResourceId) ?? new Map<string, Method>();
    byResource.set(settings.ResourceId, methods);
    methods.set(settings.HttpMethod, {
      authorizer: authorizedBy,
      apiKeyRequired: settings.ApiKeyRequired,
      integration,
    });
  }
  return byResource;
}

function readGatewayResponses(stack: Stack): ReadonlyMap<string, GatewayResponse> {
  return new Map(
    stack.resources('AWS::ApiGateway::GatewayResponse').map((resource) => {
      const { ResponseType, StatusCode, ResponseParameters, ResponseTemplates } =
        resource.read(gatewayResponse);
      return [
        ResponseType,
        { status: StatusCode, parameters: ResponseParameters, templates: ResponseTemplates },
      ];
    }),
  );
}
