import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import type { FunctionDefinition } from '../../../tools/contributors/local/function-definitions.ts';
import { Functions } from '../../../tools/contributors/local/functions.ts';

/** How the local service runs functions. */

const source = `
let under = 0;
export const handler = async (event, context) => {
  under += 1;
  const { log, exit, crash, fail, repeat, sleepMs } = event;
  if (log) { console.debug(log); console.info(log); console.error(log, new TypeError('an error')); process.stdout.write('as it is\\n'); }
  if (crash) setTimeout(() => { throw new Error('uncaught'); });
  if (sleepMs) await new Promise((done) => setTimeout(done, sleepMs));
  if (exit) process.exit(exit);
  const together = under;
  under -= 1;
  if (fail) throw new TypeError(fail);
  return repeat ? 'x'.repeat(repeat) : { together, remaining: context.getRemainingTimeInMillis(), own: process.env.OWN };
};`;

async function start(change: Partial<FunctionDefinition> = {}, code = source, inspectorPort?: number) {
  const folder = await mkdtemp(join(tmpdir(), 'functions-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const write = async (name: string, text: string) => {
    await writeFile(join(folder, name), text);
    return join(folder, name);
  };
  const lines: string[] = [];
  const functions = new Functions(
    { variables: { OWN: 'given' }, onLog: (label, line) => void lines.push(`${label}: ${line}`) },
    inspectorPort,
  );
  onTestFinished(() => functions.stop());
  const definition: FunctionDefinition = {
    arn: 'arn',
    label: 'do',
    file: await write('do.mjs', code),
    handler: 'handler',
    timeoutMs: 20_000,
    memoryMb: 128,
    variables: { AWS_LAMBDA_LOG_LEVEL: 'INFO' },
    ...change,
  };
  await functions.apply([definition]);
  const invoke = (event: object = {}) =>
    functions.invoke('arn', { event: JSON.stringify(event), traceId: 'Root=1' });
  return { functions, definition, invoke, lines, write };
}

const answer = z.object({ ok: z.literal(true), payload: z.string() });

it('serves one invocation at a time in each environment', async () => {
  const { invoke } = await start();
  const results = await Promise.all(Array.from({ length: 12 }, () => invoke({ sleepMs: 20 })));
  for (const result of results) {
    const found: unknown = JSON.parse(answer.parse(result).payload);
    expect(found).toEqual({ together: 1, remaining: expect.any(Number), own: 'given' });
  }
});

it.each([
  [{ fail: 'no way' }, 'TypeError', 'no way'],
  [{ exit: 3 }, 'Runtime.ExitError', 'Runtime exited with error: exit status 3'],
  [{ crash: true, sleepMs: 5_000 }, 'Error', 'uncaught'],
  [{ repeat: 6_291_600 }, 'Function.ResponseSizeTooLarge', 'exceeded maximum allowed payload size'],
  [{ sleepMs: 60_000 }, 'Sandbox.Timedout', 'Task timed out after 1.00 seconds'],
])('that does %j fails, and the next invocation is served', async (event, errorType, message) => {
  const { invoke } = await start('sleepMs' in event && !('crash' in event) ? { timeoutMs: 1_000 } : {});
  expect(await invoke(event)).toMatchObject({
    ok: false,
    errorType,
    errorMessage: expect.stringContaining(message),
  });
  expect(await invoke()).toMatchObject({ ok: true });
});

it('throttles what exceeds the concurrency of the account, without running it', async () => {
  const { invoke } = await start();
  const results = await Promise.all(Array.from({ length: 130 }, () => invoke({ sleepMs: 5 })));
  expect(results.filter((result) => result.ok)).toHaveLength(100);
  expect(results.at(-1)).toMatchObject({ errorType: 'TooManyRequestsException' });
});

it('logs calls of console as JSON from its level, and standard output as it is', async () => {
  const { invoke, lines } = await start();
  await invoke({ log: 'here' });
  await expect.poll(() => lines.length, { timeout: 30_000 }).toBe(3);
  const [info = '', error = '', plain] = lines.map((line) => line.replace('do: ', ''));
  const common = {
    timestamp: expect.stringMatching(/Z$/),
    requestId: expect.stringMatching(/^[\da-f-]{36}$/),
  };
  expect(JSON.parse(info)).toEqual({ ...common, level: 'INFO', message: 'here' });
  expect(JSON.parse(error)).toMatchObject({
    ...common,
    level: 'ERROR',
    errorType: 'TypeError',
    errorMessage: 'an error',
  });
  expect(plain).toBe('as it is');
});

it('requests under way end on the old code, and code that cannot be loaded changes nothing', async () => {
  const { functions, invoke, write } = await start();
  await invoke();
  const underWay = invoke({ sleepMs: 1_000 });
  const next = await write('next.mjs', `export const handler = async () => 'next';`);
  await functions.replaceCode('arn', next);
  expect(await invoke()).toEqual({ ok: true, payload: '"next"' });
  expect(JSON.parse(answer.parse(await underWay).payload)).toMatchObject({ own: 'given' });
  for (const [name, code, message] of [
    ['throws.mjs', `throw new Error('at load');`, 'do cannot be loaded: Error: at load'],
    ['syntax.mjs', `export const handler = ;`, 'do cannot be loaded: SyntaxError'],
    ['empty.mjs', ``, 'do cannot be loaded: Runtime.HandlerNotFound: handler is undefined or not exported'],
  ] as const) {
    await expect(functions.replaceCode('arn', await write(name, code))).rejects.toThrow(message);
    expect(await invoke()).toEqual({ ok: true, payload: '"next"' });
  }
});

it('that cannot be loaded fails each invocation, and the log has the reason', async () => {
  const { invoke, lines } = await start({}, `import './no-such-module.mjs';`);
  expect(await invoke()).toMatchObject({
    ok: false,
    errorMessage: expect.stringContaining('no-such-module'),
  });
  expect(lines.join('\n')).toContain('no-such-module');
});

it('under the inspector, shares a process without time-outs, and is back on its port after an exit', async () => {
  const { functions, definition, invoke, write } = await start({ timeoutMs: 1 }, source, 0);
  const { inspectorUrl } = functions;
  expect(inspectorUrl).toMatch(/^ws:\/\/127\.0\.0\.1:\d+\//);
  const other = await write(
    'other.mjs',
    `export const handler = async () => ({ pid: process.pid, own: process.env.NAME });`,
  );
  const named = (arn: string) => ({ ...definition, arn, file: other, variables: { NAME: arn } });
  await functions.apply([definition, named('one'), named('two')]);
  const input = { event: '{}', traceId: 'Root=1' };
  const results = await Promise.all(['one', 'two', 'one'].map((arn) => functions.invoke(arn, input)));
  const found = results.map((result) => JSON.parse(answer.parse(result).payload) as object);
  const { pid } = found[0] as { pid: number };
  expect(found).toEqual(['one', 'two', 'one'].map((own) => ({ pid, own })));
  expect(pid).not.toBe(process.pid);
  expect(await invoke({ sleepMs: 50 })).toMatchObject({ ok: true });
  expect(await invoke({ exit: 3 })).toMatchObject({
    errorMessage: 'Runtime exited with error: exit status 3',
  });
  expect(await invoke()).toMatchObject({ ok: true });
  expect(new URL(functions.inspectorUrl!).port).toBe(new URL(inspectorUrl!).port);
});
