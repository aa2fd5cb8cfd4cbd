import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A stack of one route and one function, and no table: what a first CDK app has. */

export const greetingStack = 'Greeting';

const hello = `export const handler = async () => ({ statusCode: 200, body: JSON.stringify('hello') });`;

/**
 * @param changes resources that are added or replaced
 * @param timeout of the function, in seconds
 * @param properties of the function that are added or replaced
 */
export function greetingTemplate(
  code = 'greet',
  changes: Readonly<Record<string, object>> = {},
  timeout = 25,
  properties: object = {},
): object {
  const api = { Ref: 'Api' };
  const uri =
    'arn:${AWS::Partition}:apigateway:${AWS::Region}:lambda:path/2015-03-31/functions/${Greet.Arn}/invocations';
  return {
    Resources: {
      Greet: {
        Type: 'AWS::Lambda::Function',
        Properties: {
          Code: { S3Bucket: 'assets', S3Key: `${code}.zip` },
          Handler: 'index.handler',
          Runtime: 'nodejs24.x',
          Timeout: timeout,
          ...properties,
        },
        Metadata: { 'aws:cdk:path': 'Greeting/Greet/Resource' },
      },
      Permission: {
        Type: 'AWS::Lambda::Permission',
        Properties: {
          Action: 'lambda:InvokeFunction',
          FunctionName: { 'Fn::GetAtt': ['Greet', 'Arn'] },
          Principal: 'apigateway.amazonaws.com',
        },
      },
      Api: { Type: 'AWS::ApiGateway::RestApi', Properties: { Name: 'greeting' } },
      Stage: { Type: 'AWS::ApiGateway::Stage', Properties: { RestApiId: api, StageName: 'dev' } },
      Path: resource('greet'),
      Get: method('Path', uri),
      ...changes,
    },
  };
}

export function resource(part: string): object {
  return {
    Type: 'AWS::ApiGateway::Resource',
    Properties: {
      RestApiId: { Ref: 'Api' },
      ParentId: { 'Fn::GetAtt': ['Api', 'RootResourceId'] },
      PathPart: part,
    },
  };
}

export function method(resourceId: string, uri: string): object {
  return {
    Type: 'AWS::ApiGateway::Method',
    Properties: {
      RestApiId: { Ref: 'Api' },
      ResourceId: { Ref: resourceId },
      HttpMethod: 'GET',
      Integration: { Type: 'AWS_PROXY', IntegrationHttpMethod: 'POST', Uri: { 'Fn::Sub': uri } },
    },
  };
}

/**
 * Writes what `cdk synth` would, with the function's code as the file `index.mjs` of an asset.
 *
 * @param others templates of other stacks, by name, with code of the same assets
 * @returns the folder
 */
export async function writeGreeting(
  template: object = greetingTemplate(),
  code = hello,
  others: Readonly<Record<string, object>> = {},
): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'greeting-'));
  const names = [...JSON.stringify([template, others]).matchAll(/"S3Key":"(\w+)\.zip"/g)].map(
    ([, name = '']) => name,
  );
  const files = names.map((name) => ({
    source: { path: `asset.${name}`, packaging: 'zip' },
    destinations: { here: { bucketName: 'assets', objectKey: `${name}.zip` } },
  }));
  await writeFile(
    join(directory, 'manifest.json'),
    JSON.stringify(manifestOf(greetingStack, ...Object.keys(others))),
  );
  await writeFile(join(directory, `${greetingStack}.assets.json`), JSON.stringify({ files: { ...files } }));
  await writeFile(join(directory, `${greetingStack}.template.json`), JSON.stringify(template));
  for (const [name, content] of Object.entries(others)) {
    await writeFile(join(directory, `${name}.assets.json`), '{}');
    await writeFile(join(directory, `${name}.template.json`), JSON.stringify(content));
  }
  for (const name of new Set(names)) {
    await mkdir(join(directory, `asset.${name}`));
    await writeFile(join(directory, `asset.${name}`, 'index.mjs'), code);
  }
  return directory;
}

/** The manifest of an assembly with stacks of these names. */
export function manifestOf(...stacks: readonly string[]): object {
  const artifacts = stacks.flatMap((name) => [
    [name, { type: 'aws:cloudformation:stack', properties: { templateFile: `${name}.template.json` } }],
    [`${name}.assets`, { type: 'cdk:asset-manifest', properties: { file: `${name}.assets.json` } }],
  ]);
  return { version: '48.0.0', artifacts: Object.fromEntries(artifacts) };
}

export const removeDirectory = (path: string) => rm(path, { recursive: true, force: true });
