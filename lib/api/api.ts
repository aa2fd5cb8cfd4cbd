import { Size, Stack } from 'aws-cdk-lib';
import * as apigateway from 'aws-cdk-lib/aws-apigateway';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { keyExpression, schemes } from '../../functions/access/keys.ts';
import { GatewayResponses } from './gateway-responses.ts';
import { acknowledge } from '../security-checks.ts';
import { authorizerCache } from '../compute/functions.ts';
import type { ServiceFunctions } from '../compute/service-function.ts';
import {
  allowedMethods,
  type FunctionEntry,
  operations,
  unmatchedRoute,
} from '../../functions/operations.ts';
import type { StageSettings } from '../configuration/settings.ts';
import type { StageName } from '../configuration/stages.ts';

/** The stage of the API: the version segment of every URL (docs/interface.md#compatibility). */
export const apiStageName = 'v1';

/**
 * TLS 1.2 at least, with forward secrecy. API Gateway's default still accepts TLS 1.0.
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-security-policies-list.html
 */
export const tlsPolicy = apigateway.SecurityPolicy.TLS13_1_2_PFS_PQ_2025_09;

/** The header of a well-formed key of the stage. API Gateway rejects other values before any code runs. */
function keyHeaderExpression(stage: StageName): string {
  return `^(${schemes}) ${keyExpression(stage)}$`;
}

export interface ApiProps {
  readonly stage: StageName;
  readonly functions: ServiceFunctions;
  readonly settings: StageSettings;
}

/** The REST API: its routes, its authorizer and its gateway responses. */
export class Api extends Construct {
  readonly restApi: apigateway.RestApi;
  readonly accessLogs: LogGroup;

  constructor(scope: Construct, id: string, { stage, functions, settings }: ApiProps) {
    super(scope, id);
    const { stackName } = Stack.of(this);

    const { logRetentionDays: retention, removalPolicy } = settings;
    this.accessLogs = new LogGroup(this, 'AccessLogs', { retention, removalPolicy });

    this.restApi = new apigateway.RestApi(this, 'RestApi', {
      restApiName: stackName,
      ...(settings.domain?.disableExecuteApiEndpoint && { disableExecuteApiEndpoint: true }),
      // https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-ip-address-type.html
      endpointConfiguration: {
        types: [apigateway.EndpointType.REGIONAL],
        ipAddressType: apigateway.IpAddressType.DUAL_STACK,
      },
      apiKeySourceType: apigateway.ApiKeySourceType.AUTHORIZER,
      // A smaller response fits into one packet anyway.
      minCompressionSize: Size.kibibytes(1),
      // account-stack.ts has one role for the whole account and Region.
      cloudWatchRole: false,
      deployOptions: {
        stageName: apiStageName,
        accessLogDestination: new apigateway.LogGroupLogDestination(this.accessLogs),
        accessLogFormat: apigateway.AccessLogFormat.custom(accessLogFormat),
        // APIG6 below says why there are no execution logs.
        loggingLevel: apigateway.MethodLoggingLevel.OFF,
        dataTraceEnabled: false,
        // Metrics per method are billed, and the functions write their own.
        metricsEnabled: false,
        tracingEnabled: true,
        ...(settings.throttle && {
          throttlingRateLimit: settings.throttle.requestsPerSecond,
          throttlingBurstLimit: settings.throttle.burst,
        }),
      },
    });
    this.restApi.node.tryRemoveChild('Endpoint');
    const cfnApi = this.restApi.node.defaultChild as apigateway.CfnRestApi;
    cfnApi.securityPolicy = tlsPolicy;
    cfnApi.endpointAccessMode = apigateway.EndpointAccessMode.STRICT;

    acknowledge(this.restApi, {
      'AwsSolutions-APIG2':
        'The functions validate every input and name each invalid field; a validator of API Gateway would answer before the rate limit is counted, with less detail.',
      'AwsSolutions-COG4':
        'Callers have an API key that a Lambda authorizer checks; there are no users who could sign in.',
    });
    acknowledge(this.restApi.deploymentStage, {
      'AwsSolutions-APIG6':
        'Execution logs contain what clients send, including the key, in a log group without retention. Access logs and the logs of the functions have what an operator needs.',
      ...(settings.throttle === undefined && {
        'Serverless-APIGWDefaultThrottling':
          "API Gateway's own throttle of a stage applies, and each key has a usage plan (throttle in settings.ts).",
      }),
      ...(settings.waf === undefined && {
        'AwsSolutions-APIG3':
          'Optional, because of its monthly price (waf in settings.ts); requests without a well-formed key run no code either way.',
      }),
    });

    const headers = settings.gatewayResponseHeaders;
    new GatewayResponses(this, 'GatewayResponses', { api: this.restApi, headers });
    this.#addRoutes(stage, functions);
  }

  /** The address of the stage, without a trailing slash. */
  get url(): string {
    const { region, urlSuffix } = Stack.of(this);
    return `https://${this.restApi.restApiId}.execute-api.${region}.${urlSuffix}/${apiStageName}`;
  }

  #addRoutes(stage: StageName, functions: ServiceFunctions): void {
    // The cast is needed because CDK's classes and interfaces differ under exactOptionalPropertyTypes.
    const liveOf = (entry: FunctionEntry) => functions.get(entry)!.live as IFunction;
    const authorizer = new apigateway.TokenAuthorizer(this, 'Authorizer', {
      handler: liveOf('authorizer'),
      validationRegex: keyHeaderExpression(stage),
      resultsCacheTtl: authorizerCache,
    });
    const add = (path: string, method: string, entry: FunctionEntry): void => {
      const { root } = this.restApi;
      const resource = path === '/' ? root : root.resourceForPath(path);
      const integration = new apigateway.LambdaIntegration(liveOf(entry), { allowTestInvoke: false });
      const authorizationType = apigateway.AuthorizationType.CUSTOM;
      resource.addMethod(method, integration, { authorizationType, authorizer, apiKeyRequired: true });
    };
    for (const { path, method, entry } of operations) add(path, method, entry);
    // Without them, API Gateway would answer unknown paths and methods itself, and without the authorizer.
    for (const path of ['/', ...allowedMethods().keys(), '/{proxy+}']) add(path, 'ANY', unmatchedRoute);
  }
}

/**
 * One line for each request, including those that reach no function, without anything that contains or reveals a key.
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-variables-for-access-logging.html
 */
const accessLogFormat = JSON.stringify({
  requestId: '$context.requestId',
  time: '$context.requestTime',
  sourceIp: '$context.identity.sourceIp',
  method: '$context.httpMethod',
  // The path is left out, because a client may have put its key there by mistake.
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
