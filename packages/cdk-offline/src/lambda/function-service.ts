import { join } from 'node:path';
import { copyCode } from './code.ts';
import type { FunctionDefinition } from './function-definition.ts';
import type { EnvironmentOptions, InvocationInput, InvocationResult } from './environment.ts';
import { FunctionLoadError } from './load-error.ts';
import { FunctionPool, type Replacement, stopped, throttled } from './pool.ts';

/** Events of invocations in progress, in UTF-16 units. Limits the memory for many large requests. */
const maxCharacters = 128 * 1024 * 1024;

export interface FunctionServiceOptions extends EnvironmentOptions {
  /** The account's concurrency: the limit for invocations of all functions at the same time. */
  readonly concurrency: number;
  /** Receives the copies of replaced code. */
  readonly codeDirectory: string;
  /** Called with the function's label. */
  readonly onLog: (label: string, line: string) => void;
}

/** Lambda: the functions of the stack by their logical ID. */
export class FunctionService {
  readonly #options: FunctionServiceOptions;
  readonly #pools = new Map<string, FunctionPool>();
  readonly #lastInvoked = new Map<string, number>();
  #underWay = 0;
  #charactersUnderWay = 0;
  #replacements = 0;

  constructor(options: FunctionServiceOptions) {
    this.#options = options;
  }

  /** The most recently invoked first. */
  get definitions(): FunctionDefinition[] {
    const lastUse = ({ logicalId }: FunctionDefinition) => this.#lastInvoked.get(logicalId) ?? 0;
    const all = [...this.#pools.values()].map(({ definition }) => definition);
    return all.toSorted((one, other) => lastUse(other) - lastUse(one));
  }

  /**
   * Adds functions, changes those that differ and removes the others.
   *
   * @throws FunctionLoadError naming all functions whose changed code cannot be loaded; then nothing is changed
   */
  async apply(definitions: readonly FunctionDefinition[]): Promise<void> {
    const { onLog } = this.#options;
    const replacements = await this.#prepare(definitions);
    for (const definition of definitions) {
      const { logicalId } = definition;
      const pool = this.#pools.get(logicalId);
      if (pool === undefined) {
        const added = new FunctionPool(definition, this.#options, onLog);
        this.#pools.set(logicalId, added);
        if (this.#options.inspected !== undefined) added.warm();
      }
    }
    for (const { commit } of replacements) commit();
    const kept = new Set(definitions.map(({ logicalId }) => logicalId));
    for (const [logicalId, pool] of this.#pools) {
      if (kept.has(logicalId)) continue;
      this.#pools.delete(logicalId);
      await pool.stop();
    }
  }

  async #prepare(definitions: readonly FunctionDefinition[]): Promise<Replacement[]> {
    const prepared: Replacement[] = [];
    const failures: FunctionLoadError[] = [];
    for (const definition of definitions) {
      const pool = this.#pools.get(definition.logicalId);
      if (pool === undefined || !isChanged(pool.definition, definition)) continue;
      try {
        prepared.push(await pool.prepare(definition));
      } catch (error) {
        if (!(error instanceof FunctionLoadError)) throw error;
        failures.push(error);
      }
    }
    if (failures.length === 0) return prepared;
    await Promise.all(prepared.map(({ discard }) => discard()));
    throw new FunctionLoadError(failures.map(({ message }) => message).join('\n'));
  }

  /** @param signal drops an invocation that still waits; a running one continues */
  async invoke(logicalId: string, input: InvocationInput, signal?: AbortSignal): Promise<InvocationResult> {
    const { event } = input;
    const pool = this.#pools.get(logicalId);
    if (pool === undefined) return stopped; // removed by an update
    const fits =
      this.#underWay < this.#options.concurrency && this.#charactersUnderWay + event.length <= maxCharacters;
    if (!fits) return throttled;
    this.#lastInvoked.set(logicalId, performance.now());
    this.#underWay += 1;
    this.#charactersUnderWay += event.length;
    try {
      return await pool.invoke(input, signal);
    } finally {
      this.#underWay -= 1;
      this.#charactersUnderWay -= event.length;
    }
  }

  /**
   * @param name the function's logical ID, name, construct path or handler
   * @throws Error when there is not exactly one such function; FunctionLoadError
   */
  async replaceCode(name: string, directory: string): Promise<void> {
    const found = [...this.#pools.values()].filter(({ definition }) =>
      [definition.logicalId, definition.name, definition.constructPath, definition.handler].includes(name),
    );
    const [pool] = found;
    if (pool === undefined || found.length > 1) {
      throw new Error(`${found.length} functions match ${name}. Use the logical ID of one function.`);
    }
    this.#replacements += 1;
    // Node.js caches modules by path.
    const codeId = `${pool.definition.logicalId}-${this.#replacements}`;
    const taskRoot = await copyCode(directory, join(this.#options.codeDirectory, codeId));
    await pool.replace({ ...pool.definition, codeId, taskRoot, source: directory });
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.stop()));
  }
}

function isChanged(one: FunctionDefinition, other: FunctionDefinition): boolean {
  const comparable = (definition: FunctionDefinition) =>
    JSON.stringify({ ...definition, taskRoot: '', source: '' });
  return comparable(one) !== comparable(other);
}
