import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Debugger } from 'node:inspector';
import { SourceMap, type SourceMapPayload } from 'node:module';
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
  /** The first line is 1. */
  readonly line: number;
}

/** What this debugger reads of an answer or event. */
type Message =
  | { readonly id: number; readonly result: unknown }
  | { readonly method: 'Debugger.scriptParsed'; readonly params: Debugger.ScriptParsedEventDataType }
  | { readonly method: 'Debugger.paused'; readonly params: Debugger.PausedEventDataType };

const target = z.tuple([z.object({ webSocketDebuggerUrl: z.string() })]);

/**
 * A debugger, as VS Code and Chrome are one: speaks the Chrome DevTools Protocol and finds places in TypeScript files by
 * the source maps of the scripts. https://chromedevtools.github.io/devtools-protocol/v8/Debugger/
 */
export class Inspector {
  readonly #socket: WebSocket;
  readonly #scripts = new Map<string, Script>();
  readonly #answers = new Map<number, (result: unknown) => void>();
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
    const { promise, resolve } = Promise.withResolvers<unknown>();
    this.#answers.set(this.#lastId, resolve);
    this.#socket.send(JSON.stringify({ id: this.#lastId, method, params }));
    return promise;
  }

  #receive(data: string): void {
    const message = JSON.parse(data) as Message;
    if ('id' in message) this.#answers.get(message.id)?.(message.result);
    else if (message.method === 'Debugger.scriptParsed') this.#addScript(message.params);
    else if (message.method === 'Debugger.paused') this.#pause(message.params);
  }

  #addScript({ scriptId, url, sourceMapURL = '' }: Debugger.ScriptParsedEventDataType): void {
    if (sourceMapURL === '' || !url.startsWith('file:')) return;
    const map = JSON.parse(readFileSync(new URL(sourceMapURL, url), 'utf8')) as SourceMapPayload;
    // Node.js leaves out the root, debuggers do not.
    const sources = map.sources.map((source) => new URL(source, map.sourceRoot ?? url).href);
    this.#scripts.set(scriptId, { url, sourceMap: new SourceMap({ ...map, sources, sourceRoot: '' }) });
  }

  #pause({ callFrames: [frame] }: Debugger.PausedEventDataType): void {
    const { scriptId, lineNumber, columnNumber = 0 } = frame!.location;
    const entry = this.#scripts.get(scriptId)?.sourceMap.findEntry(lineNumber, columnNumber);
    if (entry === undefined || !('originalSource' in entry)) return;
    this.#paused.resolve({
      callFrameId: frame!.callFrameId,
      source: fileURLToPath(entry.originalSource),
      line: entry.originalLine + 1,
    });
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
