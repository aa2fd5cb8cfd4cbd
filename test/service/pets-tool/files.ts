import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import type { World } from '../world.ts';

/** The animals that tests begin with: one with every digit, and an item that is none. */
export const rex = {
  id: 64_098_000_000,
  name: 'Rex',
  categoryId: 2n ** 63n - 1n,
  status: 'available',
} as const;
export const malformed = { id: 7, name: 'No status', categoryId: 1 };

/** Animals like it, one after the other. */
export const many = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ ...rex, id: rex.id + index, name: `animal ${index + 1}` }));

/** Files of commands, until the test ends. */
export class Folder {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  /** Its name means something else in a URL. */
  static async make(): Promise<Folder> {
    const path = await mkdtemp(join(tmpdir(), 'pets-tool-ü#%20-'));
    onTestFinished(() => rm(path, { recursive: true }));
    return new Folder(path);
  }

  of(name: string): string {
    return join(this.path, name);
  }

  /** Writes a file. Returns its path. */
  async write(name: string, text: string): Promise<string> {
    await writeFile(this.of(name), text);
    return this.of(name);
  }

  read(name: string): Promise<string> {
    return readFile(this.of(name), 'utf8');
  }

  names(): Promise<string[]> {
    return readdir(this.path);
  }
}

/** Runs a command for its JSON result. */
export async function json<T>(world: World, command: string): Promise<T> {
  const run = await world.run(`${command} --json`);
  expect(run).toMatchObject({ exitCode: 0 });
  return JSON.parse(run.stdout) as T;
}

/** All items of the table, in the order of their IDs. */
export function stored(world: World): Record<string, unknown>[] {
  return world.tables.items('Pets').toSorted((a, b) => Number(a['id']) - Number(b['id']));
}

/** Lets someone else act just before a call arrives. */
export function before(world: World, operation: string, act: () => void, times = Infinity): void {
  let acted = 0;
  world.meets = (call) => {
    if (call.operation === operation && (acted += 1) <= times) act();
    return 'answered';
  };
}
