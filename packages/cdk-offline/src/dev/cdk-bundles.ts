import { cp, readFile } from 'node:fs/promises';
import { basename, join, parse } from 'node:path';
import { build, type BuildOptions } from 'esbuild';
import { z } from 'zod';
import type { ServedFunction } from '../service/types.ts';
import { withoutInlineMap } from '../lambda/code.ts';

/**
 * How the CDK bundled the functions, from the calls of esbuild that `bundle-recorder` wrote down. A function is found by
 * its code: what the same call of esbuild makes again.
 */

const call = z.object({ command: z.string(), args: z.array(z.string()), cwd: z.string() });

/** esbuild's options for a call, with the file that it wrote. `undefined` for a call that is not understood. */
export function bundleOptionsOf(line: string): (BuildOptions & { readonly outfile: string }) | undefined {
  const { command, args, cwd } = call.parse(JSON.parse(line));
  const words = command.endsWith('bash') && args[0] === '-c' ? shellWords(args[1] ?? '') : [command, ...args];
  const flags = words?.slice(words.findLastIndex((word) => /(?:^|[\\/])esbuild$/.test(word)) + 1) ?? [];
  const options = optionsOf(flags);
  return options?.['outfile'] === undefined ? undefined : { ...options, absWorkingDir: cwd };
}

/** @returns `undefined` for more than one command */
function shellWords(line: string): string[] | undefined {
  const words: string[] = [];
  const word = /\s*((?:[^\s"'\\;&|<>$`()]|\\.|'[^']*'|"(?:[^"\\$`]|\\.)*")+)\s*/y;
  while (word.lastIndex < line.length) {
    const [, text] = word.exec(line) ?? [];
    if (text === undefined) return undefined;
    words.push(
      text.replaceAll(
        /'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)/g,
        (_, single?: string, double?: string, one?: string) =>
          single ?? double?.replaceAll(/\\(["\\$`])/g, '$1') ?? one ?? '',
      ),
    );
  }
  return words;
}

const lists = new Set(['target', 'mainFields', 'conditions', 'resolveExtensions']);
/** What is of no use in a build that is run again. */
const dropped = new Set(['metafile', 'logLevel', 'color', 'logLimit', 'analyze']);

/** https://esbuild.github.io/api/: `--name`, `--name=value`, `--name:key=value`, `--name:value` and entry points. */
function optionsOf(flags: readonly string[]): (BuildOptions & { readonly outfile: string }) | undefined {
  const options: Record<string, unknown> = { entryPoints: flags.filter((flag) => !flag.startsWith('-')) };
  for (const flag of flags) {
    if (!flag.startsWith('-')) continue;
    const [, dashed = '', mark, value = ''] = /^--([a-z0-9-]+)(?:([=:])(.*))?$/s.exec(flag) ?? [];
    const name = dashed.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
    if (name === '') return undefined;
    if (dropped.has(name)) continue;
    if (mark === ':') {
      const equals = value.indexOf('=');
      if (equals < 0) options[name] = [...asList(options[name]), value];
      else options[name] = { ...Object(options[name]), [value.slice(0, equals)]: value.slice(equals + 1) };
    } else if (mark === '=') {
      const isFlag = value === 'true' || value === 'false';
      options[name] = lists.has(name) ? value.split(',') : isFlag ? value === 'true' : value;
    } else {
      options[name] = true;
    }
  }
  return typeof options['outfile'] === 'string' ? { ...options, outfile: options['outfile'] } : undefined;
}

function asList(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/**
 * esbuild's options for the functions of an app that was synthesized under the recorder.
 *
 * @param lines what the recorder wrote in the last synthesis
 * @returns the options for a function, or `undefined` when it was not bundled by one call of esbuild alone
 */
export function cdkBundles(
  lines: () => readonly string[],
): (served: ServedFunction, outputDirectory: string) => Promise<BuildOptions | undefined> {
  let of: readonly string[] | undefined;
  let built: Promise<readonly { readonly options: BuildOptions; readonly code: string }[]> = Promise.resolve(
    [],
  );
  return async ({ handler, directory }, outputDirectory) => {
    if (of !== lines()) {
      of = lines();
      const calls = of.flatMap((line) => bundleOptionsOf(line) ?? []);
      built = Promise.all(calls.map(async (options) => ({ options, code: await codeOf(options) })));
    }
    const [file = ''] = /^[^.]*/.exec(handler) ?? [];
    for (const { options, code } of await built) {
      const name = basename(options.outfile ?? '');
      if (parse(name).name !== file || code !== (await servedCode(join(directory, name)))) continue;
      // What is beside the bundle, such as the packages of "nodeModules", stays.
      await cp(directory, outputDirectory, { recursive: true });
      // Stack traces have lines of the sources, also where the deployed code has no source map.
      return { sourcemap: 'inline', ...options, outfile: join(outputDirectory, name) };
    }
    return undefined;
  };
}

/** Empty when it cannot be built any more. */
async function codeOf(options: BuildOptions): Promise<string> {
  const result = await build({ ...options, write: false, logLevel: 'silent' }).catch(() => undefined);
  const file = result?.outputFiles?.find(({ path }) => !path.endsWith('.map'));
  return file === undefined ? '' : withoutInlineMap(file.text);
}

async function servedCode(path: string): Promise<string | undefined> {
  const text = await readFile(path, 'utf8').catch(() => undefined);
  return text === undefined ? undefined : withoutInlineMap(text);
}
