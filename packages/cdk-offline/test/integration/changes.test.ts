import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FunctionLoadError, type RequestRecord, RestartNeeded } from 'cdk-offline';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { startGate } from './gate.ts';
import { greetingAssembly, greetingTemplate, serveGreeting, stage } from './greeting.ts';
import { arnOf, invocable, method, removeDirectory, resource, table } from './template.ts';

const answers = (text: string, before = '') =>
  `export const handler = async () => { ${before} return { statusCode: 200, body: '${text}' }; };`;

async function start(code = answers('one')) {
  const { service, logs, get } = await serveGreeting(undefined, { code });
  return { service, logs, get: async (path?: string) => (await get(path)).text() };
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
    const onRequest = (record: RequestRecord): void => {
      // Another DynamoDB Local that starts on this machine may try this port, which was free before.
      if (record.path !== '/') records.push(record);
    };
    const { service } = await serveGreeting(undefined, { onRequest });
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
  it('runs the new code of a function, by any of its names, from the next request on', async () => {
    const { service, get } = await start();
    const constructPath = 'Greeting/Greet/Resource';
    const names = { logicalId: 'Greet', name: 'Greeting-Greet', constructPath, handler: 'index.handler' };
    const folders = { directory: expect.any(String), source: expect.any(String) };
    expect(service.functions).toEqual([{ ...names, label: 'Greet', ...folders }]);
    expect(await get()).toBe('one');
    for (const name of Object.values(names)) {
      await service.replaceCode(name, await codeDirectory(answers(name)));
      expect(await get()).toBe(name);
    }
    await expect(service.replaceCode('Other', tmpdir())).rejects.toThrow('0 functions match Other');
  });

  it('lets requests in progress finish on the old code', async () => {
    const gate = await startGate();
    const { service, get } = await start(answers('old', `await fetch('${gate.url}');`));
    const old = get();
    await gate.reached;
    await service.replaceCode('Greet', await codeDirectory(answers('new')));
    expect(await get()).toBe('new');
    gate.open();
    expect(await old).toBe('old');
  });

  it('reports code that cannot be loaded, and keeps serving the old code', async () => {
    const { service, logs, get } = await start();
    for (const [code, message] of [
      ['export const handler = (;', /Greet cannot be loaded: SyntaxError: Unexpected token/],
      ['throw new Error("no way");', /Greet cannot be loaded: Error: no way[\s\S]*index\.mjs:1/],
      ['export const other = 1;', /Runtime\.HandlerNotFound/],
    ] as const) {
      const replacing = service.replaceCode('Greet', await codeDirectory(code));
      const error: unknown = await replacing.catch((e: unknown) => e);
      expect(error).toBeInstanceOf(FunctionLoadError);
      expect(String(error)).toMatch(message);
    }
    expect(logs, 'the errors are reported once').toEqual([]);
    expect(await get()).toBe('one');
    await service.replaceCode('Greet', await codeDirectory(answers('two')));
    expect(await get()).toBe('two');
  });
});

const welcome = {
  Welcome: resource('welcome'),
  GetWelcome: method({ Ref: 'Welcome' }, arnOf('Greet')),
};

describe('update', () => {
  it('applies routes, code, settings and new tables on the same port', async () => {
    const { service, get } = await start();
    expect(service.dynamodbEndpoint).toBeUndefined();
    expect(await get('/welcome')).toContain('Missing Authentication Token');
    const changed = greetingTemplate({ ...welcome, Things: table(`changes-${process.pid}`) });
    await service.update({ assembly: await greetingAssembly(changed, answers('two')) });
    expect(await get('/welcome')).toBe('two');
    expect(await get('/greet')).toBe('two');
    expect(service.dynamodbEndpoint).toBe(inject('dynamodbEndpoint'));
    await service.update({ assembly: await greetingAssembly(undefined, answers('one')) });
    expect(await get('/welcome')).toContain('Missing Authentication Token');
    expect(await get('/greet')).toBe('one');
  });

  it('rejects another stage or table key with RestartNeeded, and changes nothing', async () => {
    const { service, get } = await start();
    const Stage = stage('v2');
    const renamed = await greetingAssembly(greetingTemplate({ Stage }), answers('two'));
    await expect(service.update({ assembly: renamed })).rejects.toThrow(RestartNeeded);
    const name = `keyed-${process.pid}`;
    const keyed = greetingTemplate({ Keyed: table(name) });
    await service.update({ assembly: await greetingAssembly(keyed, answers('one')) });
    const other = await greetingAssembly(greetingTemplate({ Keyed: table(name, 'other'), Stage }));
    await expect(service.update({ assembly: other })).rejects.toThrow(
      `The API or its stage has another name. Restart to apply it.\nThe table ${name} is defined differently. Restart without its data to apply it.`,
    );
    expect(await get()).toBe('one');
  });

  it('keeps all routes and code when the code of some functions cannot be loaded, and names these', async () => {
    const added = (name: string) => ({
      ...invocable(name, 'greet', { Handler: `index.${name.toLowerCase()}` }),
      [`${name}Path`]: resource(name.toLowerCase()),
      [`${name}Method`]: method({ Ref: `${name}Path` }, arnOf(name)),
    });
    const withThree = (changes: object = {}) =>
      greetingTemplate({ ...added('Second'), ...added('Third'), ...changes });
    const { service, get } = await start();
    const all = `${answers('two')} export const second = handler; export const third = handler;`;
    await service.update({ assembly: await greetingAssembly(withThree(), all) });
    expect([await get(), await get('/second')]).toEqual(['two', 'two']);
    const error: unknown = await service
      .update({ assembly: await greetingAssembly(withThree(welcome), answers('three')) })
      .catch((e: unknown) => e);
    expect(error).toBeInstanceOf(FunctionLoadError);
    expect(String(error)).toMatch(/Second cannot be loaded[\s\S]*Third cannot be loaded/);
    expect([await get(), await get('/second')]).toEqual(['two', 'two']);
    expect(await get('/welcome')).toContain('Missing Authentication Token');
  });
});
