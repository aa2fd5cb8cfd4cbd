import { type RequestEntry, operations, unmatchedRoute } from '../../functions/operations.ts';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { routeOf } from './events.ts';

/** The functions of operations that none of these is for. */
export function unusedOperations(used: Iterable<string>): string[] {
  const all = new Set(used);
  return operations.map(({ entry }) => entry).filter((entry) => !all.has(entry));
}

const parameters = z.array(z.object({ in: z.string(), name: z.string() }));
const document = z.object({
  paths: z.record(z.string(), z.record(z.string(), z.object({ parameters }))),
});

/** The parameters of queries that a document describes, such as `GET /pets?limit`. @param folder of a version */
export function describedQueries(folder: string): string[] {
  const { paths } = document.parse(parse(readFileSync(join(folder, 'docs', 'openapi.yaml'), 'utf8')));
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { parameters: all }]) =>
      all
        .filter((parameter) => parameter.in === 'query')
        .map(({ name }) => `${method.toUpperCase()} ${path}?${name}`),
    ),
  );
}

/** The parameter as `describedQueries` names it. */
export function queryOf(method: string, path: string, name: string): string {
  return `${method} ${routeOf(path).resource}?${name}`;
}

/** The function of a request. @param path below the stage, with its query */
export function entryOf(method: string, path: string): RequestEntry {
  const { resource } = routeOf(path.replace(/\?.*/, ''));
  const operation = operations.find((each) => each.method === method && each.path === resource);
  return operation?.entry ?? unmatchedRoute;
}
