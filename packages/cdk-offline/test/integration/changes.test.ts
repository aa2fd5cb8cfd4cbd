import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FunctionLoadError, type RequestRecord, RestartNeeded, serve, type ServeOptions } from 'cdk-offline';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { Gate } from './gate.ts';
import {
  greetingStack,
  greetingTemplate,
  method,
  removeDirectory,
  resource,
  writeGreeting,
} from './greeting.ts';

const answers = (text: string, before = '') =>
  `export const handler = async () => { ${before} return { statusCode: 200, body: '${text}' }; };`;

async function assemblyOf(template?: object, code?: string): Promise<string> {
  const assembly = await writeGreeting(template, code);
  onTestFinished(() => removeDirectory(assembly));
  return assembly;
}

async function start(options: Partial<ServeOptions> = {}, code = answers('one')) {
  const service = await serve({
    assembly: await assemblyOf(greetingTemplate(), code),
    stack: greetingStack,
    dynamodbEndpoint: inject('dynamodbEndpoint'),
    ...options,
  });
  onTestFinished(() => service.stop());
  const get = async (path = '/greet') => (await fetch(service.url + path)).text();
  return { service, get };
}

async function codeDirectory(code: string): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'code-'));
  onTestFinished(() => removeDirectory(directory));
  await writeFile(join(directory, 'index.mjs'), code);
  return directory;
}

describe('onRequest', () => {
  it('is called once for each answered request, gateway responses and other stages included', async () => {
    const records: RequestRecord[] = [];
    const { service } = await start({ onRequest: (record) => void records.push(record) });
    const before = Date.now();
    const { headers } = await fetch(`${service.url}/greet?a=1`);
    await fetch(`${service.url}/nowhere`, { method: 'POST' });
    await fetch(`${service.endpoint}/favicon.ico`);
    expect(records).toEqual([
      {
        time: expect.any(Number),
        method: 'GET',
        path: '/dev/greet',
        query: 'a=1',
        status: 200,
        durationMs: expect.any(Number),
        requestId: headers.get('x-amzn-requestid'),
        functionId: 'Greet',
      },
      expect.objectContaining({
        method: 'POST',
        path: '/dev/nowhere',
        status: 403,
        errorType: 'MISSING_AUTHENTICATION_TOKEN',
      }),
      expect.objectContaining({ path: '/favicon.ico', status: 403 }),
    ]);
    expect(records[0]?.time).toBeGreaterThanOrEqual(before);
    expect(records[0]?.durationMs).toBeGreaterThan(0);
  });
});

describe('replaceCode', () => {
  it.each(['Greet', 'Greeting-Greet', 'Greeting/Greet/Resource', 'index.handler'])(
    'runs the new code of %s from the next request on',
    async (name) => {
      const { service, get } = await start();
      expect(service.functions).toEqual([
        {
          logicalId: 'Greet',
          name: 'Greeting-Greet',
          constructPath: 'Greeting/Greet/Resource',
          handler: 'index.handler',
        },
      ]);
      expect(await get()).toBe('one');
      await service.replaceCode(name, await codeDirectory(answers('two')));
      expect(await get()).toBe('two');
      await service.replaceCode(name, await codeDirectory(answers('three')));
      expect(await get()).toBe('three');
    },
  );

  it('lets requests in progress finish on the old code', async () => {
    const gate = await Gate.start();
    const { service, get } = await start({}, answers('old', `await fetch('${gate.url}');`));
    const old = get();
    await expect.poll(() => gate.waiting, { timeout: 60_000 }).toBe(1);
    await service.replaceCode('Greet', await codeDirectory(answers('new')));
    expect(await get()).toBe('new');
    gate.open();
    expect(await old).toBe('old');
  });

  it.each([
    ['does not parse', 'export const handler = (;', /Greet cannot be loaded: SyntaxError: Unexpected token/],
    ['throws', 'throw new Error("no way");', /Greet cannot be loaded: Error: no way[\s\S]*index\.mjs:1/],
    ['has no handler', 'export const other = 1;', /Runtime\.HandlerNotFound/],
  ])('reports code that %s, and keeps serving the old code', async (_, code, message) => {
    const lines: string[] = [];
    const { service, get } = await start({ onLog: (_name, line) => void lines.push(line) });
    const error: unknown = await service
      .replaceCode('Greet', await codeDirectory(code))
      .catch((e: unknown) => e);
    expect(error).toBeInstanceOf(FunctionLoadError);
    expect(String(error)).toMatch(message);
    expect(lines, 'the error is reported once').toEqual([]);
    expect(await get()).toBe('one');
    await service.replaceCode('Greet', await codeDirectory(answers('two')));
    expect(await get()).toBe('two');
  });

  it('rejects a function that does not exist', async () => {
    const { service } = await start();
    await expect(service.replaceCode('Other', tmpdir())).rejects.toThrow('0 functions match Other');
  });
});

const uri = 'arn:aws:apigateway:us-east-1:lambda:path/2015-03-31/functions/${Greet.Arn}/invocations';
const table = (TableName: string, key = 'id') => ({
  Type: 'AWS::DynamoDB::Table',
  Properties: {
    TableName,
    BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: [{ AttributeName: key, AttributeType: 'S' }],
    KeySchema: [{ AttributeName: key, KeyType: 'HASH' }],
  },
});

describe('update', () => {
  it('applies routes, code, settings and new tables on the same port', async () => {
    const { service, get } = await start();
    expect(service.dynamodbEndpoint).toBeUndefined();
    expect(await get('/welcome')).toContain('Missing Authentication Token');
    const changed = greetingTemplate('other', {
      Welcome: resource('welcome'),
      GetWelcome: method('Welcome', uri),
      Things: table(`changes-${process.pid}`),
    });
    await service.update({ assembly: await assemblyOf(changed, answers('two')) });
    expect(await get('/welcome')).toBe('two');
    expect(await get('/greet')).toBe('two');
    expect(service.dynamodbEndpoint).toBe(inject('dynamodbEndpoint'));
    await service.update({ assembly: await assemblyOf(greetingTemplate(), answers('one')) });
    expect(await get('/welcome')).toContain('Missing Authentication Token');
    expect(await get('/greet')).toBe('one');
  });

  it('rejects another stage or table key with RestartNeeded, and changes nothing', async () => {
    const { service, get } = await start();
    const stage = {
      Type: 'AWS::ApiGateway::Stage',
      Properties: { RestApiId: { Ref: 'Api' }, StageName: 'v2' },
    };
    const renamed = await assemblyOf(greetingTemplate('greet', { Stage: stage }), answers('two'));
    await expect(service.update({ assembly: renamed })).rejects.toThrow(RestartNeeded);
    const name = `keyed-${process.pid}`;
    await service.update({ assembly: await assemblyOf(greetingTemplate('greet', { Keyed: table(name) })) });
    const other = await assemblyOf(greetingTemplate('greet', { Keyed: table(name, 'other'), Stage: stage }));
    await expect(service.update({ assembly: other })).rejects.toThrow(
      `The API or its stage has another name. Restart to apply it.\nThe table ${name} is defined differently. Restart without its data to apply it.`,
    );
    expect(await get()).toBe('one');
  });

  it('keeps the code of every function when that of some cannot be loaded, and names these', async () => {
    const added = (name: string, code: string) => ({
      [name]: {
        Type: 'AWS::Lambda::Function',
        Properties: {
          Code: { S3Key: `${code}.zip` },
          Handler: `index.${name.toLowerCase()}`,
          Runtime: 'nodejs24.x',
        },
      },
      [`${name}Permission`]: {
        Type: 'AWS::Lambda::Permission',
        Properties: {
          Action: 'lambda:InvokeFunction',
          FunctionName: { 'Fn::GetAtt': [name, 'Arn'] },
          Principal: 'apigateway.amazonaws.com',
        },
      },
      [`${name}Path`]: resource(name.toLowerCase()),
      [`${name}Method`]: method(`${name}Path`, uri.replace('Greet', name)),
    });
    const three = (code: string) =>
      greetingTemplate(code, { ...added('Second', code), ...added('Third', code) });
    const { service, get } = await start();
    const all = `${answers('two')} export const second = handler; export const third = handler;`;
    await service.update({ assembly: await assemblyOf(three('two'), all) });
    expect([await get(), await get('/second')]).toEqual(['two', 'two']);
    const error: unknown = await service
      .update({ assembly: await assemblyOf(three('three'), answers('three')) })
      .catch((e: unknown) => e);
    expect(error).toBeInstanceOf(FunctionLoadError);
    expect(String(error)).toMatch(/Second cannot be loaded[\s\S]*Third cannot be loaded/);
    expect([await get(), await get('/second')]).toEqual(['two', 'two']);
  });

  it('keeps the old routes and code when the new code cannot be loaded', async () => {
    const { service, get } = await start();
    const changed = greetingTemplate('broken', {
      Welcome: resource('welcome'),
      GetWelcome: method('Welcome', uri),
    });
    const assembly = await assemblyOf(changed, 'throw new Error("no way")');
    await expect(service.update({ assembly })).rejects.toThrow(FunctionLoadError);
    expect(await get('/greet')).toBe('one');
    expect(await get('/welcome')).toContain('Missing Authentication Token');
  });
});
