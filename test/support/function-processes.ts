import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import * as z from 'zod';
import { bundle } from '../../lib/bundler/bundle.ts';
import { type FunctionEntry, functionEntries } from '../../functions/operations.ts';
import { createTables, type Tables } from './create-tables.ts';
import { functionVariables } from './variables.ts';

const outcome = z.union([z.object({ returned: z.unknown() }), z.object({ thrown: z.string() })]);

/** Sends a function an event. What it returned or threw. */
export type Invoke = (event: unknown) => Promise<z.infer<typeof outcome>>;

export interface FunctionProcessOptions {
  /** The endpoint of DynamoDB for the functions. */
  readonly endpoint: string;
  /** Further environment variables. */
  readonly variables?: Readonly<Record<string, string>>;
  /** Called with each line of the functions' log. */
  readonly onLine?: (line: string) => void;
}

/** The bundled functions with their own tables, each in its own process. */
export class FunctionProcesses {
  readonly tables: Tables;
  readonly processes: ChildProcess[] = [];
  readonly #directory: string;
  readonly #variables: Readonly<Record<string, string>>;
  readonly #onLine: (line: string) => void;
  readonly #functions = new Map<FunctionEntry, Invoke>();

  private constructor(
    tables: Tables,
    directory: string,
    { endpoint, variables = {}, onLine = () => {} }: FunctionProcessOptions,
  ) {
    this.tables = tables;
    this.#directory = directory;
    this.#variables = { ...functionVariables(endpoint, tables), ...variables };
    this.#onLine = onLine;
  }

  static async start(options: FunctionProcessOptions): Promise<FunctionProcesses> {
    const directory = await mkdtemp(join(tmpdir(), 'animal-store-bundles-'));
    const functions = new FunctionProcesses(await createTables(), directory, options);
    await Promise.all(
      functionEntries.map(async (entry) => {
        await bundle(`functions/${entry}.ts`, directory);
        functions.#functions.set(entry, await functions.another(entry));
      }),
    );
    return functions;
  }

  /** The environment variables of the functions. */
  get variables(): Readonly<Record<string, string>> {
    return this.#variables;
  }

  /** One more process of a function. @param variables that differ from those of the others */
  async another(entry: FunctionEntry, variables: Readonly<Record<string, string>> = {}): Promise<Invoke> {
    const child = fork(new URL('bootstrap.ts', import.meta.url), [join(this.#directory, `${entry}.mjs`)], {
      env: { ...this.#variables, ...variables },
      execArgv: [],
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    });
    this.processes.push(child);
    createInterface({ input: child.stdout! }).on('line', this.#onLine);
    await once(child, 'message');
    let last: Promise<unknown> = Promise.resolve();
    // It serves one event at a time, as an execution environment does.
    return (event) => {
      const answer = last.then(async () => {
        const message = once(child, 'message');
        child.send(event as object);
        return outcome.parse(((await message) as unknown[])[0]);
      });
      last = answer.catch(() => {});
      return answer;
    };
  }

  /** What the function returned or threw. */
  invoke(entry: FunctionEntry, event: unknown): ReturnType<Invoke> {
    return this.#functions.get(entry)!(event);
  }

  async stop(): Promise<void> {
    for (const child of this.processes) child.kill();
    await rm(this.#directory, { recursive: true, force: true });
  }
}
