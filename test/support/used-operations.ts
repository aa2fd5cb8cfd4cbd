import { type RequestEntry, operations, unmatchedRoute } from '../../functions/operations.ts';
import { routeOf } from './events.ts';

/** The functions of operations that none of these is for. */
export function unused(used: Iterable<string>): string[] {
  const all = new Set(used);
  return operations.map(({ entry }) => entry).filter((entry) => !all.has(entry));
}

/** The function of a request. @param path below the stage, with its query */
export function entryOf(method: string, path: string): RequestEntry {
  const { resource } = routeOf(path.replace(/\?.*/, ''));
  const operation = operations.find((each) => each.method === method && each.path === resource);
  return operation?.entry ?? unmatchedRoute;
}
