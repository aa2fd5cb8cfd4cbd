import { z } from 'zod';
import type { FunctionDefinition, Functions } from '../lambda/function-definition.ts';
import { TemplateError } from '../template/intrinsics.ts';
import type { StackResource } from '../template/stack.ts';
import { wholeText } from './pattern.ts';

/** A Lambda authorizer of the template. */
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

/** An authorizer for tokens of Cognito user pools. */
export interface CognitoAuthorizer {
  readonly type: 'COGNITO_USER_POOLS';
  readonly identitySources: readonly string[];
  /** The `aud` of the token must match. */
  readonly validation: RegExp | undefined;
  /** The `iss` of its pools' tokens. */
  readonly issuers: readonly string[];
}

/** The resources of a type that belong to the API. */
export type ResourcesInApi = (type: string) => readonly StackResource[];

const authorizer = z.object({
  Type: z.enum(['TOKEN', 'REQUEST'], 'authorizers of this type are not supported by cdk-offline'),
  AuthorizerUri: z.string(),
  AuthorizerCredentials: z.string().optional(),
  AuthorizerResultTtlInSeconds: z.number().min(0).max(3600).default(300),
  IdentitySource: z.string().optional(),
  IdentityValidationExpression: z.string().optional(),
});

const kind = z.object({ Type: z.string() });
const cognitoAuthorizer = z.object({
  ProviderARNs: z.array(z.string()),
  IdentitySource: z.string().default('method.request.header.Authorization'),
  IdentityValidationExpression: z.string().optional(),
});

/** Authorizers by their IDs, or why one is not supported. */
export type Authorizers = ReadonlyMap<
  string,
  LambdaAuthorizer | CognitoAuthorizer | { readonly reason: string }
>;

export async function readAuthorizers(inApi: ResourcesInApi, functions: Functions): Promise<Authorizers> {
  const read = inApi('AWS::ApiGateway::Authorizer').map(
    async (resource) =>
      [resource.physicalId, await orReason(() => readAuthorizer(resource, functions))] as const,
  );
  return new Map(await Promise.all(read));
}

async function readAuthorizer(
  resource: StackResource,
  functions: Functions,
): Promise<LambdaAuthorizer | CognitoAuthorizer> {
  if (resource.read(kind).Type === 'COGNITO_USER_POOLS') return readCognitoAuthorizer(resource);
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

function readCognitoAuthorizer(resource: StackResource): CognitoAuthorizer {
  const { ProviderARNs, IdentitySource, IdentityValidationExpression } = resource.read(cognitoAuthorizer);
  return {
    type: 'COGNITO_USER_POOLS',
    identitySources: [IdentitySource],
    validation:
      IdentityValidationExpression === undefined
        ? undefined
        : wholeText(IdentityValidationExpression, resource.logicalId),
    issuers: ProviderARNs.map((arn) =>
      arn.replace(
        /^arn:[^:]+:cognito-idp:([^:]+):[^:]*:userpool\/(.+)$/,
        'https://cognito-idp.$1.amazonaws.com/$2',
      ),
    ),
  };
}

/** What is not supported does not stop the API. */
export async function orReason<T>(read: () => Promise<T>): Promise<T | { readonly reason: string }> {
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
