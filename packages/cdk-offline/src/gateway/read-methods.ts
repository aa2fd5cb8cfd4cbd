import { z } from 'zod';
import type { FunctionDefinition, Functions } from '../lambda/function-definition.ts';
import { TemplateError } from '../template/intrinsics.ts';
import { flag } from '../template/schema.ts';
import type { StackResource } from '../template/stack.ts';
import { type MockIntegration, mockProperties, readMock } from './mock.ts';
import {
  type Authorizers,
  type CognitoAuthorizer,
  type LambdaAuthorizer,
  orReason,
  type ResourcesInApi,
} from './read-authorizers.ts';
import { Models, type RequestValidation } from './request-validation.ts';

export interface Method {
  readonly authorizer: LambdaAuthorizer | CognitoAuthorizer | undefined;
  /** Of a Cognito token, of which it must have one. */
  readonly scopes: readonly string[];
  readonly apiKeyRequired: boolean;
  readonly validation: RequestValidation | undefined;
  readonly integration: Integration;
}

export type Integration =
  | { readonly kind: 'function'; readonly function: FunctionDefinition; readonly timeoutMs: number }
  | { readonly kind: 'mock'; readonly mock: MockIntegration }
  | { readonly kind: 'unsupported'; readonly reason: string };

const methodKey = z.object({
  ResourceId: z.string(),
  HttpMethod: z.string().toUpperCase(),
});
const method = z.object({
  AuthorizationType: z.string().default('NONE'),
  AuthorizerId: z.string().default(''),
  AuthorizationScopes: z.array(z.string()).default([]),
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

/** The methods of all resources, by the ID of the resource and by HTTP method, or `ANY`. */
export type Methods = ReadonlyMap<string, ReadonlyMap<string, Method>>;

export async function readMethods(
  inApi: ResourcesInApi,
  functions: Functions,
  authorizers: Authorizers,
  apiId: string,
): Promise<Methods> {
  const validationOf = readValidators(inApi, apiId);
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
  return { authorizer: undefined, scopes: [], apiKeyRequired: false, validation: undefined, integration };
}

/** @throws TemplateError when its kind of authorization or integration is not supported */
async function readMethod(
  resource: StackResource,
  functions: Functions,
  authorizers: Authorizers,
  validationOf: ValidationOf,
): Promise<Method> {
  const settings = resource.read(method);
  const { AuthorizationType, AuthorizerId, AuthorizationScopes, Integration, ApiKeyRequired } = settings;
  const hasAuthorizer = AuthorizationType === 'CUSTOM' || AuthorizationType === 'COGNITO_USER_POOLS';
  const authorizedBy = hasAuthorizer ? authorizers.get(AuthorizerId) : undefined;
  if (authorizedBy !== undefined && 'reason' in authorizedBy) throw new TemplateError(authorizedBy.reason);
  if (AuthorizationType !== 'NONE' && authorizedBy === undefined) {
    throw new TemplateError(`authorization by ${AuthorizationType} is not supported by cdk-offline`);
  }
  return {
    authorizer: authorizedBy,
    scopes: AuthorizationScopes,
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
