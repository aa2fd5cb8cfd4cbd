import { expect } from 'vitest';
import { World } from '../world.ts';

// These animals are in the table before a command, and what is there afterwards is read.

/** Its categoryId has every digit of an int64. */
export const rex = {
  id: 64_098_000_000,
  name: 'Rex',
  categoryId: 2n ** 63n - 1n,
  status: 'available',
} as const;
/** An item without a status, which no list has. */
export const malformed = { id: 7, name: 'No status', categoryId: 1 };

/** An item whose ID is a fraction, which the index of lists takes as a key. */
export const fraction = { ...rex, id: 1.5 };

/** Animals like Rex, with consecutive IDs. */
export const many = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ ...rex, id: rex.id + index, name: `animal ${index + 1}` }));

export function worldWith(...items: readonly object[]): World {
  const world = new World();
  for (const item of items) world.put('pets', item);
  return world;
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
