import { cp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';

/**
 * Copies a function's code, and makes the sources of its source maps absolute for stack traces and debuggers.
 *
 * @returns the copy
 */
export async function copyCode(source: string, target: string): Promise<string> {
  await cp(source, target, { recursive: true });
  const entries = await readdir(target, { recursive: true, withFileTypes: true });
  for (const { name, parentPath } of entries) {
    const path = join(parentPath, name);
    const folder = resolve(source, relative(target, parentPath));
    if (path.includes('node_modules')) continue;
    if (/\.[cm]?js\.map$/.test(name)) {
      await rewrite(path, (text) => absoluteMap(text, folder));
    } else if (/\.[cm]?js$/.test(name)) {
      await rewrite(path, (text) =>
        text.replace(inlineMap, (_, head: string, base64: string) => {
          const map = absoluteMap(Buffer.from(base64, 'base64').toString(), folder);
          return head + Buffer.from(map).toString('base64');
        }),
      );
    }
  }
  return target;
}

/** https://tc39.es/ecma426/#sec-linking-inline */
const inlineMap =
  /^(\/\/# sourceMappingURL=data:application\/json;(?:charset=[\w-]+;)?base64,)([\w+/=]+)\s*$/m;

const sourceMap = z.looseObject({ sources: z.array(z.string()), sourceRoot: z.string().optional() });

function absoluteMap(text: string, folder: string): string {
  const { sources, sourceRoot = '', ...map } = sourceMap.parse(JSON.parse(text));
  const absolute = sources.map((path) =>
    URL.canParse(sourceRoot + path)
      ? sourceRoot + path
      : pathToFileURL(resolve(folder, sourceRoot, path)).href,
  );
  return JSON.stringify({ ...map, sources: absolute });
}

async function rewrite(path: string, change: (text: string) => string): Promise<void> {
  const text = await readFile(path, 'utf8');
  const changed = change(text);
  if (changed !== text) await writeFile(path, changed);
}
