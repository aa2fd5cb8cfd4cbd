import {
  type OperationEntry,
  operations,
  type RequestEntry,
  unmatchedRoute,
} from '../../functions/operations.ts';
import { routeOf } from './events.ts';

type Place = 'simulation' | 'test of the bundles' | 'smoke test' | 'client';

/** Operations that a place leaves out, and why. */
const exceptions: { readonly [In in Place]?: { readonly [Entry in OperationEntry]?: string } } = {};

/** What is wrong with the operations that a place has used. Nothing: it used all but its exceptions. */
export function forgotten(place: Place, used: Iterable<string>): string[] {
  const all = new Set(used);
  return operations.flatMap(({ entry }) => {
    const isException = exceptions[place]?.[entry] !== undefined;
    if (all.has(entry) !== isException) return [];
    return [`the ${place} ${isException ? 'uses its exception' : 'does not use'} ${entry}`];
  });
}

/** The function of a request. @param path below the stage, with its query */
export function entryOf(method: string, path: string): RequestEntry {
  const { resource } = routeOf(path.replace(/\?.*/, ''));
  const operation = operations.find((each) => each.method === method && each.path === resource);
  return operation?.entry ?? unmatchedRoute;
}
