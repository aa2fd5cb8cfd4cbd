import { type RequestEntry, operations, unmatchedRoute } from '../../functions/operations.ts';
import { z } from 'zod';
import { routeOf } from './events.ts';
import { openApiDocument } from './openapi-document.ts';

/** The functions of operations that none of these is for. */
export function unused(used: Iterable<string>): string[] {
  const all = new Set(used);
  return operations.map(({ entry }) => entry).filter((entry) => !all.has(entry));
}

/** The parameters of queries in docs/openapi.yaml, such as `list-pets?limit`. */
export async function describedQueries(): Promise<string[]> {
  const operation = z.object({ parameters: z.array(z.object({ in: z.string(), name: z.string() })) });
  const { paths } = z
    .object({ paths: z.record(z.string(), z.record(z.string(), operation)) })
    .parse(await openApiDocument());
  return operations.flatMap(({ entry, method, path }) =>
    paths[path]![method.toLowerCase()]!.parameters.filter((parameter) => parameter.in === 'query').map(
      ({ name }) => `${entry}?${name}`,
    ),
  );
}

/** The function of a request. @param path below the stage, with its query */
export function entryOf(method: string, path: string): RequestEntry {
  const { resource } = routeOf(path.replace(/\?.*/, ''));
  const operation = operations.find((each) => each.method === method && each.path === resource);
  return operation?.entry ?? unmatchedRoute;
}
