import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { unzipSync } from 'fflate';
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

/** Unpacks a zip file with a function's code. @returns the folder */
export async function unzipCode(source: string, target: string): Promise<string> {
  for (const [name, content] of Object.entries(unzipSync(await readFile(source)))) {
    const path = join(target, name);
    if (name.endsWith('/') || relative(target, path).startsWith('..')) continue;
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content);
  }
  return target;
}

/**
 * Writes code of the template as the file `index.js`.
 *
 * https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-properties-lambda-function-code.html
 *
 * @returns the folder
 */
export async function writeInlineCode(code: string, target: string): Promise<string> {
  await mkdir(target, { recursive: true });
  await writeFile(join(target, 'index.js'), code);
  return target;
}

/** https://tc39.es/ecma426/#sec-linking-inline */
const inlineMap =
  /^(\/\/# sourceMappingURL=data:application\/json;(?:charset=[\w-]+;)?base64,)([\w+/=]+)\s*$/m;

const sourceMap = z
  .string()
  .transform((text): unknown => JSON.parse(text))
  .pipe(z.looseObject({ sources: z.array(z.string()), sourceRoot: z.string().optional() }));

/** The code without its inline source map, whose paths the copy changes. */
export function withoutInlineMap(text: string): string {
  return text.replace(inlineMap, '');
}

/** A source map of another form stays as it is. */
function absoluteMap(text: string, folder: string): string {
  const parsed = sourceMap.safeParse(text);
  if (!parsed.success) return text;
  const { sources, sourceRoot = '', ...map } = parsed.data;
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
