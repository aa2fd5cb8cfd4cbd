import { region, Stack } from '../../../tools/contributors/local/template.ts';
import type { Fact } from './fact.ts';

/** A stack with an authorizer, a function, a usage plan, and what the fact needs. */
export function stackOf({ routes = ['ANY /{proxy+}'], responses = {}, plan = {} }: Partial<Fact>): Stack {
  const functionUri = (name: string) =>
    `arn:aws:apigateway:${region}:lambda:path/2015-03-31/functions/${name}/invocations`;
  const RestApiId = { Ref: 'Api' };
  const resources: Record<string, object> = {};
  for (const route of routes) {
    const [HttpMethod, path = ''] = route.split(' ');
    let parent: object = { 'Fn::GetAtt': ['Api', 'RootResourceId'] };
    let id = 'Resource';
    for (const PathPart of path.slice(1).split('/')) {
      id += PathPart.replaceAll(/\W/g, '');
      resources[id] = {
        Type: 'AWS::ApiGateway::Resource',
        Properties: { ParentId: parent, PathPart, RestApiId },
      };
      parent = { Ref: id };
    }
    resources[`${id}${HttpMethod}`] = {
      Type: 'AWS::ApiGateway::Method',
      Properties: {
        ApiKeyRequired: true,
        AuthorizationType: 'CUSTOM',
        AuthorizerId: { Ref: 'Authorizer' },
        HttpMethod,
        Integration: { IntegrationHttpMethod: 'POST', Type: 'AWS_PROXY', Uri: functionUri('function') },
        ResourceId: parent,
        RestApiId,
      },
    };
  }
  for (const [ResponseType, properties] of Object.entries(responses))
    resources[ResponseType] = {
      Type: 'AWS::ApiGateway::GatewayResponse',
      Properties: { ...properties, ResponseType, RestApiId },
    };
  return new Stack('Recorded', '.', {
    Resources: {
      ...resources,
      Api: {
        Type: 'AWS::ApiGateway::RestApi',
        Properties: { ApiKeySourceType: 'AUTHORIZER', MinimumCompressionSize: 0, Name: 'api' },
      },
      Authorizer: {
        Type: 'AWS::ApiGateway::Authorizer',
        Properties: {
          AuthorizerResultTtlInSeconds: 0,
          AuthorizerUri: functionUri('authorizer'),
          IdentitySource: 'method.request.header.Authorization',
          IdentityValidationExpression: '.+',
          Name: 'authorizer',
          RestApiId,
          Type: 'TOKEN',
        },
      },
      Deployment: { Type: 'AWS::ApiGateway::Deployment', Properties: {} },
      Stage: {
        Type: 'AWS::ApiGateway::Stage',
        Properties: { DeploymentId: { Ref: 'Deployment' }, RestApiId, StageName: 'v1' },
      },
      Plan: {
        Type: 'AWS::ApiGateway::UsagePlan',
        Properties: { ...plan, ApiStages: [{ ApiId: RestApiId, Stage: 'v1' }], UsagePlanName: 'plan' },
      },
    },
  });
}
