import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { threadId } from 'node:worker_threads';
import { z } from 'zod';

/**
 * Tells a key that is being made from one that a crash left half made. A pending record names its maker: machine,
 * process, thread and attempt. On the same machine a dead maker is known at once; for one on another machine
 * there is only time to go by.
 */

/** Where attempts are made. */
export interface Runner {
  readonly host: string;
  readonly pid: number;
  readonly thread: number;
}

export const thisRunner: Runner = { host: hostname(), pid: process.pid, thread: threadId };

/** Seconds after which an attempt of another machine counts as abandoned. Making a key takes one or two. */
export const attemptLease = 900;

const attemptSchema = z.object({ host: z.string(), pid: z.int(), thread: z.int(), id: z.string() });

const running = new Set<string>();

export interface Attempt {
  readonly name: string;
  end(): void;
}

export function beginAttempt(runner: Runner): Attempt {
  const id = randomUUID();
  running.add(id);
  return { name: JSON.stringify({ ...runner, id }), end: () => running.delete(id) };
}

/**
 * @param startedAt Unix seconds
 * @param now Unix seconds
 */
export function isAbandoned(name: string | undefined, startedAt: number, now: number): boolean {
  if (now - startedAt > attemptLease) return true;
  const attempt = attemptSchema.safeParse(parseJson(name)).data;
  if (attempt === undefined || attempt.host !== thisRunner.host) return false;
  if (attempt.pid !== thisRunner.pid) return !isProcessAlive(attempt.pid);
  return attempt.thread === thisRunner.thread && !running.has(attempt.id);
}

function isProcessAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Not permitted to signal it: it runs, as another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

function parseJson(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '');
  } catch {
    return undefined;
  }
}
