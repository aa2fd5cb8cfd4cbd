import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CreateTableCommandInput } from '@aws-sdk/client-dynamodb';

/** Resources of templates made by hand, and the assembly that `cdk synth` would write of them. */

export const attribute = (logicalId: string, name: string) => ({ 'Fn::GetAtt': [logicalId, name] });
export const arnOf = (logicalId: string) => attribute(logicalId, 'Arn');

/** @param asset the name of the asset with its code */
export function lambdaFunction(asset: string, properties: object = {}): object {
  const Code = { S3Bucket: 'assets', S3Key: `${asset}.zip` };
  return {
    Type: 'AWS::Lambda::Function',
    Properties: { Code, Handler: 'index.handler', Runtime: 'nodejs24.x', ...properties },
  };
}

/** @param target the ARN of the function or alias that API Gateway may invoke */
export function permission(target: object): object {
  const Properties = { Action: 'lambda:InvokeFunction', FunctionName: target };
  return {
    Type: 'AWS::Lambda::Permission',
    Properties: { ...Properties, Principal: 'apigateway.amazonaws.com' },
  };
}

/** A function, and that API Gateway may invoke it. */
export function invocable(logicalId: string, asset: string, properties: object = {}): Record<string, object> {
  return {
    [logicalId]: lambdaFunction(asset, properties),
    [`${logicalId}Permission`]: permission(arnOf(logicalId)),
  };
}

/** The URI of an integration or authorizer. */
export function invocation(Target: object): object {
  const uri =
    'arn:${AWS::Partition}:apigateway:${AWS::Region}:lambda:path/2015-03-31/functions/${Target}/invocations';
  return { 'Fn::Sub': [uri, { Target }] };
}

export function integration(target: object, properties: object = {}): object {
  return { Type: 'AWS_PROXY', IntegrationHttpMethod: 'POST', Uri: invocation(target), ...properties };
}

const RestApiId = { Ref: 'Api' };
export const root = attribute('Api', 'RootResourceId');

export function resource(PathPart: string, ParentId: object = root): object {
  return { Type: 'AWS::ApiGateway::Resource', Properties: { RestApiId, ParentId, PathPart } };
}

/**
 * @param ResourceId of a path
 * @param target the ARN of a function or alias
 */
export function method(
  ResourceId: object,
  target: object,
  properties: object = {},
  HttpMethod = 'GET',
): object {
  const request = { RestApiId, ResourceId, HttpMethod, AuthorizationType: 'NONE' };
  const Properties = { ...request, Integration: integration(target), ...properties };
  return { Type: 'AWS::ApiGateway::Method', Properties };
}

export function usagePlan(UsagePlanName: string, limits: object): object {
  const ApiStages = [{ ApiId: RestApiId, Stage: { Ref: 'Stage' } }];
  return { Type: 'AWS::ApiGateway::UsagePlan', Properties: { UsagePlanName, ApiStages, ...limits } };
}

export function gatewayResponse(ResponseType: string, properties: object): object {
  return {
    Type: 'AWS::ApiGateway::GatewayResponse',
    Properties: { RestApiId, ResponseType, ...properties },
  };
}

/** A table with one key, a text. */
export function table(TableName: string, key = 'id') {
  const Properties: CreateTableCommandInput = {
    TableName,
    BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: [{ AttributeName: key, AttributeType: 'S' }],
    KeySchema: [{ AttributeName: key, KeyType: 'HASH' }],
  };
  return { Type: 'AWS::DynamoDB::Table', Properties };
}

/** Code by the name of its asset: the file's name and its text. */
export type Code = Readonly<Record<string, readonly [file: string, text: string]>>;

/**
 * Writes what `cdk synth` would. As there, the key of an asset changes with its code.
 *
 * @param templates by the names of their stacks
 * @returns the folder
 */
export async function writeAssembly(
  templates: Readonly<Record<string, object>>,
  code: Code,
): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'assembly-'));
  const write = (name: string, content: string) => writeFile(join(directory, name), content);
  const assets = Object.entries(code).map(([name, [file, text]]) => {
    const objectKey = `${createHash('sha256').update(text).digest('hex')}.zip`;
    return { name, file, text, path: `asset.${name}`, objectKey };
  });
  for (const [stack, template] of Object.entries(templates)) {
    let text = JSON.stringify(template);
    for (const { name, objectKey } of assets) text = text.replaceAll(`"${name}.zip"`, `"${objectKey}"`);
    await write(`${stack}.template.json`, text);
  }
  for (const { file, text, path } of assets) {
    await mkdir(join(directory, path));
    await write(join(path, file), text);
  }
  const files = assets.map(({ path, objectKey }) => ({
    source: { path, packaging: 'zip' },
    destinations: { here: { bucketName: 'assets', objectKey } },
  }));
  await write('assets.json', JSON.stringify({ version: '1', files: { ...files } }));
  await write('manifest.json', JSON.stringify(manifestOf(Object.keys(templates))));
  return directory;
}

/** The manifest of an assembly with these stacks. */
export function manifestOf(stacks: readonly string[]): object {
  const artifacts = stacks.map((name) => [
    name,
    { type: 'aws:cloudformation:stack', properties: { templateFile: `${name}.template.json` } },
  ]);
  const assets = { type: 'cdk:asset-manifest', properties: { file: 'assets.json' } };
  return { version: '48.0.0', artifacts: { ...Object.fromEntries(artifacts), assets } };
}

export const removeDirectory = (path: string) => rm(path, { recursive: true, force: true });
