import { serve, type ServeOptions } from 'cdk-offline';
import { inject, onTestFinished } from 'vitest';
import { arnOf, invocable, method, removeDirectory, resource, writeAssembly } from './template.ts';

export { removeDirectory } from './template.ts';

/** A stack of one route and one function, and no table: what a first CDK app has. */

export const greetingStack = 'Greeting';

export const answer = (expression: string) =>
  `export const handler = async (event) => ({ statusCode: 200, body: JSON.stringify(${expression}) });`;

/**
 * @param changes resources that are added or replaced
 * @param properties of the function that are added or replaced
 */
export function greetingTemplate(
  changes: Readonly<Record<string, object>> = {},
  properties: object = {},
): object {
  const { Greet, ...permission } = invocable('Greet', 'greet', { Timeout: 25, ...properties });
  return {
    Resources: {
      Greet: { ...Greet, Metadata: { 'aws:cdk:path': 'Greeting/Greet/Resource' } },
      ...permission,
      Api: { Type: 'AWS::ApiGateway::RestApi', Properties: { Name: 'greeting' } },
      Stage: stage('dev'),
      Path: resource('greet'),
      Get: method({ Ref: 'Path' }, arnOf('Greet')),
      ...changes,
    },
  };
}

export function stage(StageName: string): object {
  return { Type: 'AWS::ApiGateway::Stage', Properties: { RestApiId: { Ref: 'Api' }, StageName } };
}

/**
 * @param code of the asset "greet"
 * @param others templates of other stacks, by name, with code of the same asset
 * @returns the folder of the assembly
 */
export function writeGreeting(
  template: object = greetingTemplate(),
  code = answer(`'hello'`),
  others: Readonly<Record<string, object>> = {},
): Promise<string> {
  return writeAssembly({ [greetingStack]: template, ...others }, { greet: ['index.mjs', code] });
}

/** Writes the assembly for the time of the test. */
export async function greetingAssembly(...content: Parameters<typeof writeGreeting>): Promise<string> {
  const assembly = await writeGreeting(...content);
  onTestFinished(() => removeDirectory(assembly));
  return assembly;
}

/** Serves the stack until the test ends. */
export async function serveGreeting(
  template?: object,
  {
    code,
    others,
    ...options
  }: Partial<ServeOptions> & { code?: string; others?: Readonly<Record<string, object>> } = {},
) {
  const progress: string[] = [];
  const logs: [functionId: string, line: string][] = [];
  const service = await serve({
    assembly: await greetingAssembly(template, code, others),
    stack: greetingStack,
    dynamodbEndpoint: inject('dynamodbEndpoint'),
    onProgress: (line) => void progress.push(line),
    onLog: (...entry) => void logs.push(entry),
    ...options,
  });
  onTestFinished(() => service.stop());
  const get = (path = '/greet', init?: RequestInit) => fetch(service.url + path, init);
  return { service, progress, logs, get };
}
