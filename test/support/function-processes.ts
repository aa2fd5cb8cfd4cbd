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

export interface FunctionProcessOptions {
  /** Of DynamoDB, for the functions. */
  readonly endpoint: string;
  /** Further environment variables. */
  readonly variables?: Readonly<Record<string, string>>;
  /** Called with each line of the functions' log. */
  readonly onLine?: (line: string) => void;
}

/** The bundled functions with their own tables, each in its own process. */
export class FunctionProcesses {
  readonly tables: Tables;
  readonly processes: ReadonlyMap<FunctionEntry, ChildProcess>;
  readonly directory: string;

  private constructor(
    tables: Tables,
    processes: ReadonlyMap<FunctionEntry, ChildProcess>,
    directory: string,
  ) {
    this.tables = tables;
    this.processes = processes;
    this.directory = directory;
  }

  static async start(options: FunctionProcessOptions): Promise<FunctionProcesses> {
    const { endpoint, variables = {}, onLine = () => {} } = options;
    const tables = await createTables();
    const directory = await mkdtemp(join(tmpdir(), 'animal-store-bundles-'));
    const env = { ...functionVariables(endpoint, tables), ...variables };
    const start = async (entry: FunctionEntry) => {
      await bundle(`functions/${entry}.ts`, directory);
      const child = fork(new URL('bootstrap.ts', import.meta.url), [join(directory, `${entry}.mjs`)], {
        env,
        execArgv: [],
        stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
      });
      createInterface({ input: child.stdout! }).on('line', onLine);
      await once(child, 'message');
      return [entry, child] as const;
    };
    return new FunctionProcesses(tables, new Map(await Promise.all(functionEntries.map(start))), directory);
  }

  /** What the function returned or threw. */
  async invoke(entry: FunctionEntry, event: unknown): Promise<z.infer<typeof outcome>> {
    const child = this.processes.get(entry)!;
    const answer = once(child, 'message');
    child.send(event as object);
    return outcome.parse(((await answer) as unknown[])[0]);
  }

  async stop(): Promise<void> {
    for (const child of this.processes.values()) child.kill();
    await rm(this.directory, { recursive: true, force: true });
  }
}
