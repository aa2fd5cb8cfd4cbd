import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

interface Script {
  readonly url: string;
  readonly sourceMap: SourceMap;
}

interface Paused {
  readonly callFrameId: string;
  /** Path of the TypeScript file. */
  readonly source: string;
  /** From 1. */
  readonly line: number;
}

const target = z.tuple([z.object({ webSocketDebuggerUrl: z.string() })]);
const message = z.object({
  id: z.number().optional(),
  method: z.string().optional(),
  params: z.unknown().optional(),
  result: z.unknown().optional(),
  error: z.object({ message: z.string() }).optional(),
});
const scriptParsed = z.object({
  scriptId: z.string(),
  url: z.string(),
  sourceMapURL: z.string().default(''),
});
const sourceMapFile = z.object({
  version: z.number(),
  sources: z.array(z.string()),
  sourceRoot: z.string().optional(),
  names: z.array(z.string()),
  mappings: z.string(),
});
const pausedEvent = z.object({
  callFrames: z.array(
    z.object({
      callFrameId: z.string(),
      location: z.object({ scriptId: z.string(), lineNumber: z.number(), columnNumber: z.number() }),
    }),
  ),
});

/**
 * A debugger, as VS Code and Chrome are one: speaks the Chrome DevTools Protocol and finds places in TypeScript files by
 * the source maps of the scripts. https://chromedevtools.github.io/devtools-protocol/v8/Debugger/
 */
export class Inspector {
  readonly #socket: WebSocket;
  readonly #scripts = new Map<string, Script>();
  readonly #answers = new Map<number, PromiseWithResolvers<unknown>>();
  readonly #paused = Promise.withResolvers<Paused>();
  #lastId = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener('message', ({ data }) => this.#receive(String(data)));
  }

  /** @param host of the inspector, such as `127.0.0.1:9229` */
  static async attach(host: string): Promise<Inspector> {
    const [{ webSocketDebuggerUrl }] = target.parse(await (await fetch(`http://${host}/json/list`)).json());
    const socket = new WebSocket(webSocketDebuggerUrl);
    const inspector = new Inspector(socket);
    await once(socket, 'open');
    await inspector.#send('Runtime.enable');
    await inspector.#send('Debugger.enable');
    return inspector;
  }

  /** @param line from 1 */
  async breakAt(file: string, line: number): Promise<void> {
    for (const { url, sourceMap } of this.#scripts.values()) {
      const place = generatedPlace(sourceMap, file, line);
      if (place === undefined) continue;
      await this.#send('Debugger.setBreakpointByUrl', { url, ...place });
      return;
    }
    throw new Error(`No script comes from ${file}:${line}`);
  }

  paused(): Promise<Paused> {
    return this.#paused.promise;
  }

  async evaluate(callFrameId: string, expression: string): Promise<unknown> {
    const answer = await this.#send('Debugger.evaluateOnCallFrame', { callFrameId, expression });
    return z.object({ result: z.object({ value: z.unknown() }) }).parse(answer).result.value;
  }

  async resume(): Promise<void> {
    await this.#send('Debugger.resume');
  }

  close(): void {
    this.#socket.close();
  }

  #send(method: string, params: object = {}): Promise<unknown> {
    this.#lastId += 1;
    const answer = Promise.withResolvers<unknown>();
    this.#answers.set(this.#lastId, answer);
    this.#socket.send(JSON.stringify({ id: this.#lastId, method, params }));
    return answer.promise;
  }

  #receive(data: string): void {
    const { id, method, params, result, error } = message.parse(JSON.parse(data));
    if (id !== undefined) {
      if (error === undefined) this.#answers.get(id)?.resolve(result);
      else this.#answers.get(id)?.reject(new Error(error.message));
    }
    if (method === 'Debugger.scriptParsed') {
      const { scriptId, url, sourceMapURL } = scriptParsed.parse(params);
      if (sourceMapURL === '' || !url.startsWith('file:')) return;
      const map = sourceMapFile.parse(JSON.parse(readFileSync(new URL(sourceMapURL, url), 'utf8')));
      // Node.js leaves out the root, debuggers do not.
      const sources = map.sources.map((source) => new URL(source, map.sourceRoot ?? url).href);
      this.#scripts.set(scriptId, {
        url,
        sourceMap: new SourceMap({ ...map, sources, sourceRoot: '', file: '', sourcesContent: [] }),
      });
    }
    if (method === 'Debugger.paused') {
      const [frame] = pausedEvent.parse(params).callFrames;
      const { scriptId, lineNumber, columnNumber } = frame!.location;
      const entry = this.#scripts.get(scriptId)?.sourceMap.findEntry(lineNumber, columnNumber);
      if (entry === undefined || !('originalSource' in entry)) return;
      this.#paused.resolve({
        callFrameId: frame!.callFrameId,
        source: fileURLToPath(entry.originalSource),
        line: entry.originalLine + 1,
      });
    }
  }
}

/** The first place in the script that comes from the line. */
function generatedPlace(sourceMap: SourceMap, file: string, line: number) {
  const lines = sourceMap.payload.mappings.split(';').length;
  for (let lineNumber = 0; lineNumber < lines; lineNumber += 1) {
    for (let columnNumber = 0; columnNumber < 8; columnNumber += 1) {
      const entry = sourceMap.findEntry(lineNumber, columnNumber);
      if (!('originalSource' in entry) || entry.generatedLine !== lineNumber) continue;
      if (entry.originalLine === line - 1 && fileURLToPath(entry.originalSource) === file)
        return { lineNumber, columnNumber: entry.generatedColumn };
    }
  }
  return undefined;
}
