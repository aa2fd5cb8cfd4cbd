import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { SourceMap } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build, type BuildOptions } from 'esbuild';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { greetingTemplate, serveGreeting } from './greeting.ts';
import { removeDirectory } from './template.ts';

const source = (text: string) => `interface Answer { readonly statusCode: number; readonly body: string }
export const handler = async (_: unknown, context: { getRemainingTimeInMillis(): number }): Promise<Answer> => {
  const signal = AbortSignal.timeout(1000), late = [new Promise((resolve) => signal.addEventListener('abort', resolve)), new Promise((resolve) => setTimeout(resolve, 1000))];
  const work = new Promise((resolve) => setTimeout(resolve, 100, 'in time'));
  const own = await Promise.race([...late.map(async (deadline) => (await deadline, 'too late')), work]);
  const body = JSON.stringify(['${text}', process.env['GREETING'], context.getRemainingTimeInMillis(), own]);
  return { statusCode: 200, body };
};
`;
const breakpoint = { line: 3, column: 2 };
const patience = { timeout: 60_000 };

const event = z.object({ method: z.string(), params: z.record(z.string(), z.unknown()).default({}) });

/** A debugger: speaks the inspector's protocol. https://chromedevtools.github.io/devtools-protocol/v8/ */
class Debugger {
  readonly #socket: WebSocket;
  readonly #results = new Map<number, (result: unknown) => void>();
  readonly events: z.infer<typeof event>[] = [];
  #lastId = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener('message', ({ data }) => {
      const message = z.looseObject({ id: z.number().optional() }).parse(JSON.parse(String(data)));
      if (message.id === undefined) this.events.push(event.parse(message));
      else this.#results.get(message.id)?.(message['result']);
    });
  }

  static async attach(url: string): Promise<Debugger> {
    const socket = new WebSocket(url);
    await new Promise((resolve) => socket.addEventListener('open', resolve, { once: true }));
    onTestFinished(() => socket.close());
    const attached = new Debugger(socket);
    await attached.send('Debugger.enable');
    return attached;
  }

  send(method: string, params: object = {}): Promise<unknown> {
    this.#lastId += 1;
    const { promise, resolve } = Promise.withResolvers<unknown>();
    this.#results.set(this.#lastId, resolve);
    this.#socket.send(JSON.stringify({ id: this.#lastId, method, params }));
    return promise;
  }

  /** Sets a breakpoint by file and line of a source, as debuggers do: by way of the script's source map. */
  async breakAt(path: string): Promise<void> {
    const wanted = pathToFileURL(path).href;
    const found = await vi.waitUntil(() => this.#generatedPosition(wanted), patience);
    await this.send('Debugger.setBreakpointByUrl', found);
  }

  async #generatedPosition(wanted: string): Promise<{ url: string; lineNumber: number } | undefined> {
    const scripts = this.events.filter(({ method }) => method === 'Debugger.scriptParsed');
    for (const { params } of scripts.toReversed()) {
      const { url, sourceMapURL } = z.object({ url: z.string(), sourceMapURL: z.string() }).parse(params);
      if (!url.endsWith('index.mjs') || sourceMapURL === '') continue;
      const map = new SourceMap(
        JSON.parse(await readFile(fileURLToPath(new URL(sourceMapURL, url)), 'utf8')),
      );
      const text = await readFile(fileURLToPath(url), 'utf8');
      for (const lineNumber of text.split('\n').keys()) {
        const entry = map.findEntry(lineNumber, 2);
        if (
          'originalSource' in entry &&
          entry.originalSource === wanted &&
          entry.originalLine === breakpoint.line
        ) {
          return { url, lineNumber };
        }
      }
    }
    return undefined;
  }

  async untilPaused(times: number): Promise<void> {
    const pauses = () => this.events.filter(({ method }) => method === 'Debugger.paused');
    await vi.waitUntil(() => pauses().length >= times, patience);
  }
}

/** TypeScript in a project folder, bundled into another one with a source map. */
async function bundle(text: string, options: BuildOptions = {}) {
  const project = await mkdtemp(join(tmpdir(), 'project-'));
  onTestFinished(() => removeDirectory(project));
  const path = join(project, 'greet.ts');
  await writeFile(path, text);
  const directory = join(project, 'out');
  await build({
    entryPoints: [path],
    outfile: join(directory, 'index.mjs'),
    bundle: true,
    format: 'esm',
    sourcemap: true,
    logLevel: 'error',
    ...options,
  });
  return { source: path, directory };
}

describe('under the inspector', () => {
  it('stops at a breakpoint in TypeScript without time-outs, and stays attached when code is replaced', async () => {
    const template = greetingTemplate({}, { Timeout: 1 });
    const { service, get } = await serveGreeting(template, { inspect: { port: 0 } });
    expect(await (await get()).json()).toBe('hello');
    expect(service.inspectorUrl).toMatch(/^ws:\/\/127\.0\.0\.1:\d+\/[\w-]+$/);
    const attached = await Debugger.attach(service.inspectorUrl ?? '');

    // The function's time-out and its own deadlines are one second.
    for (const [round, [text, heldMs]] of Object.entries({ one: 1500, two: 0 }).entries()) {
      const code = await bundle(source(text));
      await service.replaceCode('Greet', code.directory);
      await attached.breakAt(code.source);
      const answered = get();
      await attached.untilPaused(round + 1);
      await sleep(heldMs);
      await attached.send('Debugger.resume');
      expect(await (await answered).json()).toEqual([text, null, 1000, 'in time']);
    }
  });

  it('functions have separate variables and log lines, and one that ends the process is restarted', async () => {
    const code = `
      const loaded = process.env.AWS_LAMBDA_FUNCTION_NAME;
      export const handler = async ({ queryStringParameters }) => {
        if (queryStringParameters?.exit) process.exit(3);
        console.log('a line');
        process.stdout.write('a raw line\\n');
        const variables = Object.keys(process.env).includes('AWS_REGION') && 'AWS_REGION' in process.env;
        return { statusCode: 200, body: JSON.stringify([loaded, process.env._HANDLER, variables, process.env.HOME]) };
      };`;
    const { get, logs } = await serveGreeting(undefined, { code, inspect: { port: 0 } });
    const expected = ['Greeting-Greet', 'index.handler', true, null];
    expect(await (await get()).json()).toEqual(expected);
    await expect
      .poll(() => logs, { timeout: 60_000 })
      .toEqual([
        ['Greet', expect.stringMatching(/INFO\ta line$/)],
        ['Greet', 'a raw line'],
      ]);
    expect((await get('/greet?exit=1')).status).toBe(502);
    expect(await (await get()).json()).toEqual(expected);
  });
});

it.each([true, 'inline'] as const)(
  'a stack trace names the TypeScript file and line of a source map: %s',
  async (sourcemap) => {
    const { service, get, logs } = await serveGreeting();
    const code = await bundle(
      `interface Unused { readonly a: string }\n\nexport const handler = async () => {\n  throw new Error('no way');\n};\n`,
      { sourcemap, minify: true },
    );
    await service.replaceCode('Greet', code.directory);
    expect((await get()).status).toBe(502);
    await expect.poll(() => logs.join('\n'), { timeout: 60_000 }).toContain(`${code.source}:4:9`);
  },
);
