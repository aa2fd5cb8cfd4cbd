import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { inject } from 'vitest';
import * as z from 'zod/mini';
import type { Decision } from '../../functions/access/limits.ts';
import type { Order } from './limiter-process.ts';

const decisions = z.array(z.custom<Decision>((value) => typeof value === 'object'));

/** Several processes that share nothing but the table. */
export class Processes {
  readonly #children: readonly ChildProcess[];

  private constructor(children: readonly ChildProcess[]) {
    this.#children = children;
  }

  static async start(count: number): Promise<Processes> {
    const script = new URL('limiter-process.ts', import.meta.url);
    const children = Array.from({ length: count }, () => fork(script, [inject('dynamodbEndpoint')]));
    await Promise.all(children.map((child) => once(child, 'message')));
    return new Processes(children);
  }

  /** Sends every process its share of the requests at the same time, and gives all decisions. */
  async admit({ clocks, ...order }: Order): Promise<Decision[]> {
    const answers = this.#children.map(async (child, index) => {
      const answer = once(child, 'message');
      child.send({
        ...order,
        clocks: clocks.filter((_, request) => request % this.#children.length === index),
      });
      const [message] = (await answer) as unknown[];
      return z.parse(decisions, message);
    });
    return (await Promise.all(answers)).flat();
  }

  stop(): void {
    for (const child of this.#children) child.kill();
  }
}
