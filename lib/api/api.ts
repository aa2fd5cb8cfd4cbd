import { Duration, Stack } from 'aws-cdk-lib';
import {
  AccessLogFormat,
  ApiKeySourceType,
  AuthorizationType,
  type CfnRestApi,
  EndpointAccessMode,
  EndpointType,
  type IResource,
  IpAddressType,
  LambdaIntegration,
  LogGroupLogDestination,
  MethodLoggingLevel,
  RestApi,
  SecurityPolicy,
  TokenAuthorizer,
} from 'aws-cdk-lib/aws-apigateway';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { GatewayResponses } from './gateway-responses.ts';
import { operations, unmatchedPaths, unmatchedRoute } from './routes.ts';
import { acknowledge } from '../security-checks.ts';
import type { ServiceFunction } from '../compute/service-function.ts';
import type { FunctionEntry } from '../compute/entries.ts';
import type { StageSettings } from '../settings.ts';

/** The stage of the API, which is the version segment of every address (interface, section 9). */
export const apiStageName = 'v1';

/**
 * How long API Gateway may reuse the authorizer's answer for a key: so long it takes, at most, until an expired
 * allowance or a changed plan is noticed. A revocation bites at once all the same, see INVALID_API_KEY.
 */
export const authorizerCache = Duration.seconds(60);

/** The shape of a key in its header (functions/access/keys.ts). What differs is turned away before any code runs. */
const keyHeaderExpression = '^[Bb][Ee][Aa][Rr][Ee][Rr] +as_[a-z][a-z0-9]*_[0-9A-Za-z]{36}$';

export interface ApiProps {
  readonly functions: ReadonlyMap<FunctionEntry, ServiceFunction>;
  readonly settings: StageSettings;
}

/** The REST API: its routes, its authorizer, and the answers that it gives by itself. */
export class Api extends Construct {
  readonly restApi: RestApi;
  readonly accessLogs: LogGroup;

  constructor(scope: Construct, id: string, { functions, settings }: ApiProps) {
    super(scope, id);
    const { stackName } = Stack.of(this);
    const regional = settings.endpoint === 'regional';

    this.accessLogs = new LogGroup(this, 'AccessLogs', {
      retention: settings.logRetentionDays,
      removalPolicy: settings.removalPolicy,
    });

    this.restApi = new RestApi(this, 'RestApi', {
      restApiName: stackName,
      // Reached over IPv6 too: https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-ip-address-type.html
      endpointConfiguration: {
        types: [regional ? EndpointType.REGIONAL : EndpointType.EDGE],
        ipAddressType: IpAddressType.DUAL_STACK,
      },
      apiKeySourceType: ApiKeySourceType.AUTHORIZER,
      // The role that API Gateway logs with is one for the whole account and Region, see account-stack.ts.
      cloudWatchRole: false,
      deployOptions: {
        stageName: apiStageName,
        accessLogDestination: new LogGroupLogDestination(this.accessLogs),
        accessLogFormat: AccessLogFormat.custom(accessLogFormat),
        // No execution logs, see APIG6 below.
        loggingLevel: MethodLoggingLevel.OFF,
        dataTraceEnabled: false,
        // No metrics of each method, which are billed: those of the stage are free, and the functions have their own.
        metricsEnabled: false,
        tracingEnabled: true,
        ...(settings.throttle && {
          throttlingRateLimit: settings.throttle.requestsPerSecond,
          throttlingBurstLimit: settings.throttle.burst,
        }),
      },
    });
    this.restApi.node.tryRemoveChild('Endpoint');
    const cfnApi = this.restApi.node.defaultChild as CfnRestApi;
    cfnApi.securityPolicy = tlsPolicy(settings);
    cfnApi.endpointAccessMode = EndpointAccessMode.STRICT;

    acknowledge(this.restApi, {
      'AwsSolutions-APIG2':
        'The functions check every input, and name each fault of it; a validator of API Gateway would answer before the rate limit is counted, with less than that.',
      'AwsSolutions-COG4':
        'Callers hold an API key (interface, section 5) that a Lambda authorizer checks; there are no users who could sign in.',
    });
    acknowledge(this.restApi.deploymentStage, {
      'AwsSolutions-APIG6':
        'Execution logs print what clients send, the key included, and go to a log group that keeps them for ever. Access logs and the logs of the functions tell what an operator needs.',
      ...(settings.throttle === undefined && {
        'Serverless-APIGWDefaultThrottling': 'This copy has the account to itself (throttle in stages.ts).',
      }),
      ...(settings.waf === undefined && {
        'AwsSolutions-APIG3':
          'Each copy decides whether a web ACL is worth its monthly price (waf in stages.ts); requests without a well-formed key run no code either way.',
      }),
    });

    new GatewayResponses(this, 'GatewayResponses', this.restApi);
    this.#addRoutes(functions);
  }

  /** The address of the stage, without a slash at its end. */
  get url(): string {
    const { region, urlSuffix } = Stack.of(this);
    return `https://${this.restApi.restApiId}.execute-api.${region}.${urlSuffix}/${apiStageName}`;
  }

  #addRoutes(functions: ReadonlyMap<FunctionEntry, ServiceFunction>): void {
    // A cast, because CDK's classes and interfaces differ under exactOptionalPropertyTypes.
    const liveOf = (entry: FunctionEntry) => functionOf(functions, entry).live as IFunction;
    const authorizer = new TokenAuthorizer(this, 'Authorizer', {
      handler: liveOf('authorizer'),
      validationRegex: keyHeaderExpression,
      resultsCacheTtl: authorizerCache,
    });
    const add = (path: string, method: string, entry: FunctionEntry): void => {
      const integration = new LambdaIntegration(liveOf(entry), { allowTestInvoke: false });
      resourceAt(this.restApi, path).addMethod(method, integration, {
        authorizationType: AuthorizationType.CUSTOM,
        authorizer,
        apiKeyRequired: true,
      });
    };
    for (const { path, method, entry } of operations) add(path, method, entry);
    for (const path of unmatchedPaths) add(path, 'ANY', unmatchedRoute);
  }
}

/**
 * One line for each request, also for those that reach no function. The ids are those of the functions' lines. No header
 * and no query is in it, and no hash of a key: a log must not be worth stealing.
 *
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-variables-for-access-logging.html
 */
const accessLogFormat = JSON.stringify({
  requestId: '$context.requestId',
  time: '$context.requestTime',
  sourceIp: '$context.identity.sourceIp',
  method: '$context.httpMethod',
  // Not the path as sent: a client that mistakes where its key belongs may have put it there.
  resource: '$context.resourcePath',
  protocol: '$context.protocol',
  tlsVersion: '$context.tlsVersion',
  status: '$context.status',
  responseLength: '$context.responseLength',
  responseLatency: '$context.responseLatency',
  keyId: '$context.authorizer.keyId',
  plan: '$context.authorizer.plan',
  authorizerStatus: '$context.authorizer.status',
  authorizerLatency: '$context.authorizer.latency',
  integrationStatus: '$context.integration.status',
  integrationLatency: '$context.integration.latency',
  integrationError: '$context.integrationErrorMessage',
  gatewayResponse: '$context.error.responseType',
  wafStatus: '$context.waf.status',
  traceId: '$context.xrayTraceId',
});

/**
 * TLS 1.2 at least, with forward secrecy; left to itself the API would still accept TLS 1.0.
 *
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-security-policies-list.html
 */
export function tlsPolicy({ endpoint }: Pick<StageSettings, 'endpoint'>): SecurityPolicy {
  return endpoint === 'regional'
    ? SecurityPolicy.TLS13_1_2_PFS_PQ_2025_09
    : SecurityPolicy.TLS12_PFS_2025_EDGE;
}

function resourceAt(api: RestApi, path: string): IResource {
  return path === '/' ? api.root : api.root.resourceForPath(path);
}

function functionOf(
  functions: ReadonlyMap<FunctionEntry, ServiceFunction>,
  entry: FunctionEntry,
): ServiceFunction {
  const found = functions.get(entry);
  if (found === undefined) throw new Error(`No function ${entry} is in the stack`);
  return found;
}
