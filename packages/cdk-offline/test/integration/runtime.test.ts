import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type OfflineService, serve } from 'cdk-offline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  answer,
  greetingAssembly,
  greetingStack,
  greetingTemplate,
  serveGreeting,
  writeGreeting,
} from './greeting.ts';
import { removeDirectory } from './template.ts';

/** What a function finds of the Lambda runtime: the AWS SDK, the endpoints of AWS and the kinds of handlers. */

/** Answers with the value of an expression of its request, or with the error. */
const evaluator = `
  import https from 'node:https';
  import { text } from 'node:stream/consumers';
  export const handler = async (event) => {
    const { run } = event.queryStringParameters;
    const value = await new Promise((resolve) => resolve(eval(run)))
      .catch((error) => [error.name, error.message, error.cause].join(': '));
    return { statusCode: 200, body: JSON.stringify(value) };
  };`;
const evaluate = async (url: string, run: string): Promise<unknown> =>
  (await fetch(`${url}/greet?run=${encodeURIComponent(run)}`)).json();

// https://docs.aws.amazon.com/lambda/latest/dg/lambda-nodejs.html#nodejs-sdk-included
describe('the AWS SDK of the runtime', () => {
  it.each([
    ['in threads', {}],
    ['under the inspector', { inspect: { port: 0 } }],
  ] as const)(
    'is offered for what the function does not bring, and this is said once: %s',
    async (_, options) => {
      const code = `
      import { own } from '@aws-sdk/client-dynamodb';
      import { marshall } from '@aws-sdk/util-dynamodb';
      import { createRequire } from 'node:module';
      const required = createRequire(import.meta.url)('@aws-sdk/util-dynamodb');
      ${answer('[own, marshall({ a: 1 }), required.marshall({ b: 2 })]')}`;
      const assembly = await greetingAssembly(greetingTemplate(), code);
      const folder = join(assembly, 'asset.greet', 'node_modules', '@aws-sdk', 'client-dynamodb');
      await mkdir(folder, { recursive: true });
      await writeFile(join(folder, 'package.json'), '{ "main": "index.js" }');
      await writeFile(join(folder, 'index.js'), `exports.own = 'its own';`);
      const { get, progress } = await serveGreeting(undefined, { assembly, ...options });
      for (const _request of [1, 2])
        expect(await (await get()).json()).toEqual(['its own', { a: { N: '1' } }, { b: { N: '2' } }]);
      expect(progress.filter((line) => line.includes('AWS SDK'))).toEqual([
        `The AWS SDK of the Lambda runtime is that of ${join(process.cwd(), 'node_modules')}`,
      ]);
    },
  );
});

describe('a function', () => {
  let assembly: string;
  let service: OfflineService;
  beforeAll(async () => {
    const api = 'https://${Api}.execute-api.${AWS::Region}.${AWS::URLSuffix}/dev/greet';
    const Environment = { Variables: { API: { 'Fn::Sub': api } } };
    assembly = await writeGreeting(greetingTemplate({}, { Environment }), evaluator);
    service = await serve({ assembly, stack: greetingStack });
  });
  afterAll(async () => {
    await service.stop();
    await removeDirectory(assembly);
  });
  const run = (expression: string) => evaluate(service.url, expression);
  const signed = (name: string) => ({
    Authorization: `AWS4-HMAC-SHA256 Credential=local/20300101/us-east-1/${name}/aws4_request, Signature=0`,
    'X-Amz-Security-Token': service.credentials.sessionToken,
  });

  it('is told what to do about a package of the AWS SDK that is not installed here', async () => {
    expect(await run(`import('@aws-sdk/client-no-such-service')`)).toMatch(
      /npm install --save-dev @aws-sdk\/client-no-such-service/,
    );
  });

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
  ])('gets an error that names it from the service %s', async (name, type, expected) => {
    const headers = { ...signed(name), 'content-type': type };
    const init = JSON.stringify({ method: 'POST', headers, body: '{}' });
    expect(
      await run(`fetch(process.env.AWS_ENDPOINT_URL, ${init})
        .then(async (response) => [response.status, await response.text()])`),
    ).toEqual([400, expect.stringMatching(expected)]);
  });

  it('reaches AWS by the SDK only at the local endpoint', async () => {
    const call = `const { CloudFormationClient, DescribeStacksCommand } = sdk;
      return new CloudFormationClient({}).send(new DescribeStacksCommand({}));`;
    const described = await run(`import('@aws-sdk/client-cloudformation').then((sdk) => { ${call} })`);
    expect(described).toMatchObject({ Stacks: [{ StackName: greetingStack }] });
  });

  it('reaches the local endpoint by version 2 of the SDK, which has no setting for it', async () => {
    const host = 'sts.us-east-1.amazonaws.com';
    const headers = { Host: host, ...signed('sts') };
    const options = JSON.stringify({ host, port: 443, path: '/', method: 'POST', headers });
    expect(
      await run(`new Promise((resolve, reject) =>
        https.request({ ...${options}, agent: new https.Agent() }, resolve)
          .on('error', reject).end('Action=GetCallerIdentity')).then(text)`),
    ).toMatch(/<Arn>arn:aws:iam::123456789012:user\/local<.*<Account>123456789012</);
  });

  it.each([
    `fetch('https://sns.us-east-1.amazonaws.com')`,
    `new Promise((_, fail) => https.get('https://s3.amazonaws.com').on('error', fail))`,
    `new Promise((_, fail) => process.getBuiltinModule('net').connect(443, 'ssm.eu-west-1.api.aws').on('error', fail))`,
  ])('does not reach AWS by its addresses: %s', async (call) => {
    expect(await run(call)).toMatch(/belongs to AWS, and cdk-offline lets no function call AWS/);
  });

  it('has no settings and credentials of this machine', async () => {
    const names = ['AWS_CONFIG_FILE', 'AWS_SHARED_CREDENTIALS_FILE', 'AWS_EC2_METADATA_DISABLED'];
    expect(await run(`${JSON.stringify(names)}.map((name) => process.env[name])`)).toEqual([
      '/dev/null',
      '/dev/null',
      'true',
    ]);
  });

  // https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html#configuration-envvars-runtime
  it('continues the trace of the request with _X_AMZN_TRACE_ID', async () => {
    const ids = await run(`[event.headers['X-Amzn-Trace-Id'], process.env._X_AMZN_TRACE_ID]`);
    const [sent = '', seen] = z.array(z.string()).parse(ids);
    expect(sent).toMatch(/^Root=1-[0-9a-f]{8}-[0-9a-f]{24}$/);
    expect(seen).toMatch(new RegExp(`^${sent};Parent=[0-9a-f]{16};Sampled=0$`));
  });

  it('has the local address of the API in a variable with its address', async () => {
    expect(await run('process.env.API')).toBe(`${service.url}/greet`);
  });
});

describe('a module that cannot be found', () => {
  it.each([
    [
      'the handler',
      'index.ts',
      '',
      /Cannot find module 'index\.handler'\. The asset has index\.ts, which is not compiled/,
    ],
    ['an import', 'part.ts', `import './part.js';`, /Cannot find module .*The asset has part\.ts/],
    [
      'a require',
      'part.ts',
      `process.getBuiltinModule('module').createRequire(import.meta.url)('./part');`,
      /Cannot find module '\.\/part'.*The asset has part\.ts/s,
    ],
  ])('names the TypeScript beside it that is not compiled: %s', async (_, file, code, message) => {
    const assembly = await greetingAssembly(greetingTemplate(), `${code} ${answer('1')}`);
    await writeFile(join(assembly, 'asset.greet', file), 'export const part: string = "a";');
    if (code === '') await removeDirectory(join(assembly, 'asset.greet', 'index.mjs'));
    const { get, logs } = await serveGreeting(undefined, { assembly });
    expect((await get()).status).toBe(502);
    expect(logs.join('\n')).toMatch(message);
  });
});

// https://aws.amazon.com/blogs/compute/node-js-24-runtime-now-available-in-aws-lambda/
describe('a handler with a callback', () => {
  const code = `export const handler = (event, context, callback) => {
    const succeed = (body) => ({ statusCode: 200, body });
    if (event.queryStringParameters?.promise) return Promise.resolve(succeed('promised'));
    if (event.queryStringParameters?.fail) callback(new Error('no luck'));
    else setTimeout(() => callback(null, succeed('called back')));
  };`;

  it('is served before Node.js 24: a result, an error or a promise', async () => {
    const { get, logs } = await serveGreeting(greetingTemplate({}, { Runtime: 'nodejs22.x' }), { code });
    expect(await (await get()).text()).toBe('called back');
    expect(await (await get('/greet?promise=1')).text()).toBe('promised');
    expect((await get('/greet?fail=1')).status).toBe(502);
    expect(logs.join('\n')).toMatch(/no luck/);
  });

  // Such as aws-serverless-express, and promises of libraries.
  it.each([
    ['context.succeed(answer)', 200],
    ['setTimeout(context.succeed, 1, answer)', 200],
    ['context.done(null, answer)', 200],
    ['setTimeout(context.done, 1, new Error("no luck"))', 502],
    ['context.fail(new Error("no luck"))', 502],
    ['context.fail()', 502],
    ['return { then: (resolve) => void resolve(answer) }', 200],
    ['return { then: (_, reject) => void reject(new Error("no luck")) }', 502],
    ['callback(null, answer); context.fail(); return Promise.reject(new Error("too late"))', 200],
  ])('may use the context or return a thenable before Node.js 24: %s', async (statement, status) => {
    const body = `const answer = { statusCode: 200, body: 'done' }; ${statement};`;
    const { get } = await serveGreeting(greetingTemplate({}, { Runtime: 'nodejs20.x', Timeout: 3 }), {
      code: `export const handler = (event, context, callback) => { ${body} };`,
    });
    const response = await get();
    expect(response.status).toBe(status);
    if (status === 200) expect(await response.text()).toBe('done');
  });

  it('cannot be loaded on Node.js 24', async () => {
    const { get, logs } = await serveGreeting(undefined, { code });
    expect((await get()).status).toBe(502);
    expect(logs.join('\n')).toMatch(/CallbackHandlerDeprecated/);
  });
});
