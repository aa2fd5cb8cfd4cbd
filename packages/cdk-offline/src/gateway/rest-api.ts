import { z } from 'zod';
import type { Functions } from '../lambda/function-definition.ts';
import { TemplateError } from '../template/intrinsics.ts';
import { flag, scalar, unsupported } from '../template/schema.ts';
import type { StackResource } from '../template/stack.ts';
import type { StackWithImports } from '../template/stack-with-imports.ts';
import type { GatewayResponse } from './gateway-responses.ts';
import { readAuthorizers, type ResourcesInApi } from './read-authorizers.ts';
import { type Method, type Methods, readMethods } from './read-methods.ts';

/** A REST API with its stage. */
export interface RestApi {
  readonly id: string;
  readonly stage: string;
  readonly deploymentId: string;
  readonly stageVariables: Readonly<Record<string, string>> | null;
  readonly apiKeySource: 'HEADER' | 'AUTHORIZER';
  readonly binaryMediaTypes: readonly string[];
  /** In bytes, infinite without compression. */
  readonly minimumCompressionSize: number;
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

const restApi = z.object({
  ApiKeySourceType: z.enum(['HEADER', 'AUTHORIZER']).default('HEADER'),
  BinaryMediaTypes: z.array(z.string()).default([]),
  Body: unsupported('imported OpenAPI definitions are'),
  BodyS3Location: unsupported('imported OpenAPI definitions are'),
  MinimumCompressionSize: z.number().optional(),
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
const gatewayResponse = z.object({
  ResponseType: z.string(),
  StatusCode: z.union([z.string(), z.number()]).transform(Number).optional(),
  ResponseParameters: z.record(z.string(), z.string()).default({}),
  ResponseTemplates: z.record(z.string(), z.string()).optional(),
});

/**
 * The REST API of a stack or of one nested in it. Its parts may be in other stacks of the app.
 *
 * @param name the API's logical ID or name, for a stack with several
 * @param notes gets one line for each setting that has no effect here
 * @throws TemplateError when there is not exactly one such API with one stage, or a setting is not supported
 */
export async function readRestApi(
  stacks: StackWithImports,
  name: string | undefined,
  functions: Functions,
  notes: string[],
): Promise<RestApi> {
  const api = chooseApi(stacks, name);
  const inApi: ResourcesInApi = (type) => stacks.resourcesOfApi(type, (one) => belongsTo(api, one));
  const stageResource = only(
    inApi('AWS::ApiGateway::Stage'),
    `${stacks.main.name}: the API ${api.logicalId} must have one stage`,
  );
  const settings = api.read(restApi);
  const deployed = stageResource.read(stage);
  const note = (setting: unknown, { logicalId }: StackResource, text: string): void => {
    if (setting !== undefined && setting !== false) notes.push(`${logicalId}: ${text} by cdk-offline`);
  };
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
  for (const authorizer of authorizers.values()) {
    if (!('issuers' in authorizer)) continue;
    notes.push(
      `Tokens with the issuer ${authorizer.issuers.join(' or ')} are accepted without a check of their signature`,
    );
  }
  const methods = await readMethods(inApi, functions, authorizers, api.physicalId);
  return {
    id: api.physicalId,
    stage: deployed.StageName,
    deploymentId: deployed.DeploymentId,
    stageVariables: deployed.Variables ?? null,
    apiKeySource: settings.ApiKeySourceType,
    binaryMediaTypes: settings.BinaryMediaTypes,
    minimumCompressionSize: settings.MinimumCompressionSize ?? Infinity,
    gatewayResponses: readGatewayResponses(inApi),
    resources: [...paths].map(([id, path]) => ({ id, path, methods: methods.get(id) ?? new Map() })),
    unsupported: describeUnsupported(paths, methods),
  };
}

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

const ownedByApi = z.object({ RestApiId: z.string() });

function belongsTo(api: StackResource, resource: StackResource): boolean {
  return resource.read(ownedByApi).RestApiId === api.physicalId;
}

/** What a stack without a REST API may answer requests with. */
const otherApis: Readonly<Record<string, string>> = {
  'AWS::ApiGatewayV2::Api': 'HTTP and WebSocket APIs',
  'AWS::Lambda::Url': 'Function URLs',
  'AWS::ElasticLoadBalancingV2::LoadBalancer': 'Load balancers',
  'AWS::AppSync::GraphQLApi': 'GraphQL APIs',
};

const namedApi = z.object({ Name: z.unknown() });

function chooseApi({ main }: StackWithImports, name: string | undefined): StackResource {
  const all = main.tree.flatMap((stack) => stack.resources('AWS::ApiGateway::RestApi'));
  const wanted = all.filter(
    (api) => name === undefined || api.logicalId === name || api.read(namedApi).Name === name,
  );
  if (all.length === 0) {
    const others = Object.entries(otherApis).flatMap(([type, what]) => {
      const found = main.tree.flatMap((stack) => stack.types.get(type) ?? []);
      return found.length === 0 ? [] : [` ${what} are not supported: ${found.join(', ')}.`];
    });
    throw new TemplateError(`${main.name} has no REST API.${others.join('')}`);
  }
  return only(
    wanted.length === 0 ? all : wanted,
    `${main.name} has several REST APIs: choose one with --api`,
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
