import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as z from 'zod';
import { bundle } from '../../lib/bundler/bundle.ts';
import { lambdaVariables } from './lambda.ts';

const outcome = z.union([z.object({ returned: z.unknown() }), z.object({ thrown: z.string() })]);

/** A bundled function in a separate process. */
export class FunctionProcess {
  readonly #child: ChildProcess;
  readonly #directory: string;

  private constructor(child: ChildProcess, directory: string) {
    this.#child = child;
    this.#directory = directory;
  }

  static async start(entry: string, environment: Readonly<Record<string, string>>): Promise<FunctionProcess> {
    const directory = await mkdtemp(join(tmpdir(), 'animal-store-bench-'));
    await bundle(`functions/${entry}.ts`, directory);
    const script = new URL('../../test/support/function-process.ts', import.meta.url);
    const child = fork(script, [join(directory, `${entry}.mjs`)], {
      env: { ...lambdaVariables, ...environment },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    await once(child, 'message');
    return new FunctionProcess(child, directory);
  }

  /** @throws Error when the function does */
  async invoke(event: unknown): Promise<unknown> {
    const answer = once(this.#child, 'message');
    this.#child.send(event as object);
    const [message] = (await answer) as unknown[];
    const result = outcome.parse(message);
    if ('thrown' in result) throw new Error(result.thrown);
    return result.returned;
  }

  async stop(): Promise<void> {
    this.#child.kill();
    await rm(this.#directory, { recursive: true });
  }
}
