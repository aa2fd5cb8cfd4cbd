import { z } from 'zod';
import type { FunctionDefinition, Functions } from '../lambda/definition.ts';
import { TemplateError } from '../template/intrinsics.ts';
import type { Stack, StackResource } from '../template/stack.ts';
import type { GatewayResponse } from './gateway-responses.ts';

/** A REST API of the template with its one stage. */
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
  /** Such as `/things/{id}`. */
  readonly path: string;
  /** By HTTP method, or `ANY`. */
  readonly methods: ReadonlyMap<string, Method>;
}

export interface Method {
  readonly authorizer: TokenAuthorizer | undefined;
  readonly apiKeyRequired: boolean;
  /** `undefined` when integrations of this kind are not supported. */
  readonly integration: { readonly function: FunctionDefinition; readonly timeoutMs: number } | undefined;
}

export interface TokenAuthorizer {
  readonly id: string;
  /** The name of the header that holds the token. */
  readonly header: string;
  /** What the whole token has to match before the function is asked. */
  readonly validation: RegExp | undefined;
  /** 0 to 3600; 0 turns the cache off. */
  readonly cacheSeconds: number;
  readonly function: FunctionDefinition;
}

const scalar = z.union([z.string(), z.number(), z.boolean()]).transform(String);
const flag = z.union([z.boolean(), z.stringbool()]);

const restApi = z.object({
  ApiKeySourceType: z.enum(['HEADER', 'AUTHORIZER']).default('HEADER'),
  BinaryMediaTypes: z.array(z.string()).default([]),
  Body: z
    .undefined({ error: 'APIs that are imported from OpenAPI are not supported by cdk-offline' })
    .optional(),
  BodyS3Location: z
    .undefined({ error: 'APIs that are imported from OpenAPI are not supported by cdk-offline' })
    .optional(),
  MinimumCompressionSize: z.unknown().optional(),
  Policy: z.unknown().optional(),
});
const stage = z.object({
  RestApiId: z.string(),
  DeploymentId: z.string().default(''),
  StageName: z.string(),
  Variables: z.record(z.string(), scalar).optional(),
  MethodSettings: z
    .array(z.object({ ThrottlingRateLimit: z.unknown().optional(), CachingEnabled: flag.optional() }))
    .default([]),
  CanarySetting: z.unknown().optional(),
});
const apiResource = z.object({ RestApiId: z.string(), ParentId: z.string(), PathPart: z.string() });
const method = z.object({
  RestApiId: z.string(),
  ResourceId: z.string(),
  HttpMethod: z.string().toUpperCase(),
  AuthorizationType: z.enum(['NONE', 'CUSTOM', 'AWS_IAM', 'COGNITO_USER_POOLS']).default('NONE'),
  AuthorizationScopes: z.unknown().optional(),
  AuthorizerId: z.string().optional(),
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
  RestApiId: z.string(),
  Type: z.literal('TOKEN', 'only TOKEN authorizers are supported here'),
  AuthorizerUri: z.string(),
  AuthorizerCredentials: z.string().optional(),
  AuthorizerResultTtlInSeconds: z.number().min(0).max(3600).default(300),
  IdentitySource: z.string().default('method.request.header.Authorization'),
  IdentityValidationExpression: z.string().optional(),
});
const gatewayResponse = z.object({
  RestApiId: z.string(),
  ResponseType: z.string(),
  StatusCode: z.union([z.string(), z.number()]).transform(Number).optional(),
  ResponseParameters: z.record(z.string(), z.string()).default({}),
  ResponseTemplates: z.record(z.string(), z.string()).optional(),
});

/**
 * The REST API of a stack.
 *
 * @param notes gets one line for each thing that the template asks for and that is not done here
 * @throws TemplateError when there is not exactly one API with one stage, or it uses what is not supported
 */
export async function readRestApi(stack: Stack, functions: Functions, notes: string[]): Promise<RestApi> {
  const api = only(stack, 'AWS::ApiGateway::RestApi');
  const stageResource = only(stack, 'AWS::ApiGateway::Stage');
  const settings = api.read(restApi);
  const deployed = stageResource.read(stage);
  const note = (what: unknown, resource: StackResource, text: string): void => {
    if (what !== undefined && what !== false) notes.push(`${resource.logicalId}: ${text}`);
  };
  note(settings.MinimumCompressionSize, api, 'answers are not compressed by cdk-offline');
  note(settings.Policy, api, 'the resource policy is not enforced by cdk-offline');
  note(deployed.CanarySetting, stageResource, 'the canary of the stage is not served by cdk-offline');
  for (const { ThrottlingRateLimit, CachingEnabled } of deployed.MethodSettings) {
    note(
      ThrottlingRateLimit,
      stageResource,
      'the throttling of the stage is not enforced by cdk-offline; that of usage plans is',
    );
    note(CachingEnabled, stageResource, 'the stage has no cache in cdk-offline');
  }

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
    resources: readPaths(stack, api).map(({ id, path }) => ({
      id,
      path,
      methods: methods.get(id) ?? new Map(),
    })),
  };
}

function only(stack: Stack, type: string): StackResource {
  const [resource, ...others] = stack.resources(type);
  if (resource === undefined || others.length > 0) {
    throw new TemplateError(
      `cdk-offline serves one ${type} of a stack; ${stack.name} has ${others.length + (resource ? 1 : 0)}`,
    );
  }
  return resource;
}

function readPaths(stack: Stack, api: StackResource): { readonly id: string; readonly path: string }[] {
  const rootId = api.attribute('RootResourceId');
  const parts = new Map(
    stack.resources('AWS::ApiGateway::Resource').map((resource) => {
      const { ParentId, PathPart } = resource.read(apiResource);
      return [resource.physicalId, { parentId: ParentId, part: PathPart }];
    }),
  );
  const pathOf = (id: string): string => {
    if (id === rootId) return '';
    const found = parts.get(id);
    if (found === undefined) throw new TemplateError(`The API has no resource ${id}`);
    return `${pathOf(found.parentId)}/${found.part}`;
  };
  return [{ id: rootId, path: '/' }, ...[...parts.keys()].map((id) => ({ id, path: pathOf(id) }))];
}

async function readAuthorizers(
  stack: Stack,
  functions: Functions,
): Promise<ReadonlyMap<string, TokenAuthorizer>> {
  const read = stack.resources('AWS::ApiGateway::Authorizer').map(async (resource) => {
    const settings = resource.read(authorizer);
    const { IdentitySource, IdentityValidationExpression: expression } = settings;
    const header = /^method\.request\.header\.([\w-]+)$/.exec(IdentitySource)?.[1];
    if (header === undefined)
      throw new TemplateError(`${resource.logicalId}: its identity source is not a header`);
    return {
      id: resource.physicalId,
      header,
      validation: expression === undefined ? undefined : toRegExp(resource.logicalId, expression),
      cacheSeconds: settings.AuthorizerResultTtlInSeconds,
      function: await functions.ofUri(settings.AuthorizerUri, settings.AuthorizerCredentials),
    };
  });
  return new Map((await Promise.all(read)).map((one) => [one.id, one]));
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
  authorizers: ReadonlyMap<string, TokenAuthorizer>,
  note: (what: unknown, resource: StackResource, text: string) => void,
): Promise<ReadonlyMap<string, ReadonlyMap<string, Method>>> {
  const byResource = new Map<string, Map<string, Method>>();
  for (const resource of stack.resources('AWS::ApiGateway::Method')) {
    const settings = resource.read(method);
    const { AuthorizationType, AuthorizerId, Integration } = settings;
    const authorizedBy = authorizers.get(AuthorizerId ?? '');
    if (AuthorizationType !== 'NONE' && (AuthorizationType !== 'CUSTOM' || authorizedBy === undefined)) {
      throw new TemplateError(
        `${resource.logicalId}: authorization by ${AuthorizationType} is not supported by cdk-offline`,
      );
    }
    note(settings.RequestValidatorId, resource, 'request validators are not run by cdk-offline');
    const isProxy = Integration?.Type === 'AWS_PROXY' && Integration.Uri !== undefined;
    note(
      !isProxy,
      resource,
      `an integration of type ${Integration?.Type} is not supported by cdk-offline and answers 500`,
    );
    if (isProxy && Integration.IntegrationHttpMethod !== 'POST') {
      throw new TemplateError(`${resource.logicalId}: functions are only invoked by POST`);
    }
    const methods = byResource.get(settings.ResourceId) ?? new Map<string, Method>();
    byResource.set(settings.ResourceId, methods);
    methods.set(settings.HttpMethod, {
      authorizer: AuthorizationType === 'NONE' ? undefined : authorizedBy,
      apiKeyRequired: settings.ApiKeyRequired,
      integration:
        isProxy && Integration.Uri !== undefined
          ? {
              function: await functions.ofUri(Integration.Uri, Integration.Credentials),
              timeoutMs: Integration.TimeoutInMillis,
            }
          : undefined,
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
