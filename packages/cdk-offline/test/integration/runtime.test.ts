import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { serve, type ServeOptions } from 'cdk-offline';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { greetingStack, greetingTemplate, removeDirectory, writeGreeting } from './greeting.ts';

/** What a function finds of the Lambda runtime: the AWS SDK, the endpoints of AWS and the kinds of handlers. */

async function assemblyOf(code: string, properties: object = {}): Promise<string> {
  const assembly = await writeGreeting(greetingTemplate('greet', {}, 25, properties), code);
  onTestFinished(() => removeDirectory(assembly));
  return assembly;
}

async function start(assembly: string, options: Partial<ServeOptions> = {}) {
  const progress: string[] = [];
  const logs: string[] = [];
  const service = await serve({
    assembly,
    stack: greetingStack,
    dynamodbEndpoint: inject('dynamodbEndpoint'),
    onProgress: (line) => void progress.push(line),
    onLog: (_, line) => void logs.push(line),
    ...options,
  });
  onTestFinished(() => service.stop());
  const get = () => fetch(`${service.url}/greet`);
  return { service, progress, logs, get };
}

const answer = (expression: string) =>
  `({ statusCode: 200, body: JSON.stringify(${expression}) ?? 'undefined' })`;

/** Answers with the error's name and message. */
const failing = (call: string) => `export const handler = async () => {
  try { await (${call}); return ${answer(`'no error'`)}; }
  catch (error) { return ${answer('`${error.name}: ${error.message} ${error.cause ?? ""}`')}; }
};`;

// https://docs.aws.amazon.com/lambda/latest/dg/lambda-nodejs.html#nodejs-sdk-included
describe.each([
  ['in threads', {}],
  ['under the inspector', { inspect: { port: 0 } }],
] as const)('the AWS SDK of the runtime, %s', (_, options) => {
  it('is offered to import and require, and this is said once', async () => {
    const code = `
      import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
      import { createRequire } from 'node:module';
      const { marshall } = createRequire(import.meta.url)('@aws-sdk/util-dynamodb');
      export const handler = async () => ${answer('[typeof DynamoDBClient, marshall({ a: 1 })]')};`;
    const { get, progress } = await start(await assemblyOf(code), options);
    for (const _request of [1, 2])
      expect(await (await get()).json()).toEqual(['function', { a: { N: '1' } }]);
    expect(progress.filter((line) => line.includes('AWS SDK'))).toEqual([
      `The AWS SDK of the Lambda runtime is that of ${join(process.cwd(), 'node_modules')}`,
    ]);
  });

  it('does not shadow what the function brings', async () => {
    const assembly = await assemblyOf(
      `import { own } from '@aws-sdk/client-dynamodb'; export const handler = async () => ${answer('own')};`,
    );
    const folder = join(assembly, 'asset.greet', 'node_modules', '@aws-sdk', 'client-dynamodb');
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'package.json'), '{ "main": "index.js" }');
    await writeFile(join(folder, 'index.js'), `exports.own = 'its own';`);
    const { get, progress } = await start(assembly, options);
    expect(await (await get()).json()).toBe('its own');
    expect(progress.filter((line) => line.includes('AWS SDK'))).toEqual([]);
  });
});

describe('the AWS SDK of the runtime', () => {
  it('that is not installed here is named, with what to do', async () => {
    const code = failing(`import('@aws-sdk/client-no-such-service')`);
    const { get } = await start(await assemblyOf(code));
    expect(await (await get()).json()).toMatch(/npm install --save-dev @aws-sdk\/client-no-such-service/);
  });

  it('has only version 2 before Node.js 18, and only version 3 from then on', async () => {
    const { get } = await start(
      await assemblyOf(failing(`import('@aws-sdk/client-dynamodb')`), { Runtime: 'nodejs16.x' }),
    );
    expect(await (await get()).json()).toMatch(/Cannot find package '@aws-sdk\/client-dynamodb'/);
  });
});

describe('AWS', () => {
  it.each([
    [
      'ssm',
      'application/x-amz-json-1.1',
      /^\{"__type":"NotSupportedByCdkOffline","message":"The AWS service ssm is not/,
    ],
    [
      'sns',
      'application/x-www-form-urlencoded',
      /<Code>NotSupportedByCdkOffline<.*<Message>The AWS service sns is not/,
    ],
    ['s3', 'application/octet-stream', /^<Error><Code>NotSupportedByCdkOffline<.*The AWS service s3 is not/],
  ])('the service %s answers with an error that names it', async (service, type, expected) => {
    const code = `export const handler = async () => {
      const response = await fetch(process.env.AWS_ENDPOINT_URL, {
        method: 'POST',
        headers: {
          authorization: 'AWS4-HMAC-SHA256 Credential=local/20300101/us-east-1/${service}/aws4_request, Signature=0',
          'content-type': '${type}',
        },
        body: '{}',
      });
      return ${answer('[response.status, await response.text()]')};
    };`;
    const { get } = await start(await assemblyOf(code));
    expect(await (await get()).json()).toEqual([400, expect.stringMatching(expected)]);
  });

  it('is reachable by the SDK only at the local endpoint', async () => {
    const code = `
      import { GetCallerIdentityCommand, STSClient } from '@aws-sdk/client-sts';
      export const handler = async () => ${answer('(await new STSClient({}).send(new GetCallerIdentityCommand({}))).Account')};`;
    const { get } = await start(await assemblyOf(code));
    expect(await (await get()).json()).toBe('123456789012');
  });

  it('gets the signed requests of version 2 of the SDK, which has no setting for the endpoint, at the local one', async () => {
    const code = `
      import https from 'node:https';
      import { text } from 'node:stream/consumers';
      export const handler = async () => {
        const options = {
          host: 'sts.us-east-1.amazonaws.com', port: 443, path: '/', method: 'POST', agent: new https.Agent(),
          headers: {
            Host: 'sts.us-east-1.amazonaws.com',
            Authorization: 'AWS4-HMAC-SHA256 Credential=local/20300101/us-east-1/sts/aws4_request, Signature=0',
          },
        };
        const response = await new Promise((resolve, reject) =>
          https.request(options, resolve).on('error', reject).end('Action=GetCallerIdentity'));
        return ${answer('await text(response)')};
      };`;
    const { get } = await start(await assemblyOf(code));
    expect(await (await get()).json()).toContain('<Account>123456789012</Account>');
  });

  it.each([
    `fetch('https://sns.us-east-1.amazonaws.com')`,
    `new Promise((_, fail) => process.getBuiltinModule('https').get('https://s3.amazonaws.com').on('error', fail))`,
    `new Promise((_, fail) => process.getBuiltinModule('net').connect(443, 'ssm.eu-west-1.api.aws').on('error', fail))`,
  ])('is not reachable by its addresses: %s', async (call) => {
    const { get } = await start(await assemblyOf(failing(call)));
    expect(await (await get()).json()).toMatch(/belongs to AWS, and cdk-offline lets no function call AWS/);
  });

  it('has no settings and credentials of this machine', async () => {
    const names = ['AWS_CONFIG_FILE', 'AWS_SHARED_CREDENTIALS_FILE', 'AWS_EC2_METADATA_DISABLED'];
    const code = `export const handler = async () => ${answer(`${JSON.stringify(names)}.map((name) => process.env[name])`)};`;
    const { get } = await start(await assemblyOf(code));
    expect(await (await get()).json()).toEqual(['/dev/null', '/dev/null', 'true']);
  });
});

describe('a handler with a callback', () => {
  const code = (body: string) => `export const handler = (event, context, callback) => { ${body} };`;
  const succeed = code(`setTimeout(() => callback(null, ${answer(`'called back'`)}))`);

  it.each(['nodejs20.x', 'nodejs22.x'])('is served on %s', async (Runtime) => {
    const { get } = await start(await assemblyOf(succeed, { Runtime }));
    expect(await (await get()).json()).toBe('called back');
  });

  it('fails with the error of the callback', async () => {
    const { get, logs } = await start(
      await assemblyOf(code(`callback(new Error('no luck'))`), { Runtime: 'nodejs22.x' }),
    );
    expect((await get()).status).toBe(502);
    expect(logs.join('\n')).toMatch(/no luck/);
  });

  it('can return a promise instead', async () => {
    const promised = `export const handler = async (event, context, callback) => ${answer(`'promised'`)};`;
    const { get } = await start(await assemblyOf(promised, { Runtime: 'nodejs18.x' }));
    expect(await (await get()).json()).toBe('promised');
  });

  // https://aws.amazon.com/blogs/compute/node-js-24-runtime-now-available-in-aws-lambda/
  it('cannot be loaded on Node.js 24', async () => {
    const { get, logs } = await start(await assemblyOf(succeed));
    expect((await get()).status).toBe(502);
    expect(logs.join('\n')).toMatch(/CallbackHandlerDeprecated/);
  });
});

// https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html#configuration-envvars-runtime
it('_X_AMZN_TRACE_ID continues the trace of the request', async () => {
  const code = `export const handler = async (event) => ${answer(`[event.headers['X-Amzn-Trace-Id'], process.env._X_AMZN_TRACE_ID]`)};`;
  const { get } = await start(await assemblyOf(code));
  const [sent = '', seen] = z.array(z.string()).parse(await (await get()).json());
  expect(sent).toMatch(/^Root=1-[0-9a-f]{8}-[0-9a-f]{24}$/);
  expect(seen).toMatch(new RegExp(`^${sent};Parent=[0-9a-f]{16};Sampled=0$`));
});

it('the API’s own address in a variable is the local one', async () => {
  const Environment = {
    Variables: {
      API: { 'Fn::Sub': 'https://${Api}.execute-api.${AWS::Region}.${AWS::URLSuffix}/dev/greet' },
    },
  };
  const code = `export const handler = async () => ${answer('process.env.API')};`;
  const { get, service } = await start(await assemblyOf(code, { Environment }));
  expect(await (await get()).json()).toBe(`${service.url}/greet`);
});
