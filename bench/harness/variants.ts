import { execFile } from 'node:child_process';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build, type BuildOptions, type Metafile, type Plugin } from 'esbuild';
import { builtins } from '../../lib/compute/bundle-builtins.ts';
import { leftOut } from '../../lib/compute/bundle-left-out.ts';
import { bundleOptions } from '../../lib/compute/bundle.ts';
import { lambdaVariables } from './lambda.ts';

const variantsDirectory = join(import.meta.dirname, '..', 'variants');

export interface Built {
  readonly directory: string;
  /** Bytes of code that load at start. */
  readonly startBytes: number;
  /** Bytes of code altogether. */
  readonly allBytes: number;
}

/** A function of the project, bundled in another way than it is deployed. */
export interface OtherWay {
  /** In the place of functions/dynamodb-client.ts: a file of variants/. */
  readonly client?: string;
  readonly fullZod?: boolean;
  readonly leaveOut?: boolean;
  readonly lateBuiltins?: boolean;
  readonly options?: BuildOptions;
}

/** The function as it is deployed, as a way like the others. */
export const deployed: OtherWay = { leaveOut: true, lateBuiltins: true };

/** Builds `functions/<entry>.ts` in another way. */
export async function buildOtherWay(entry: string, directory: string, way: OtherWay): Promise<Built> {
  const { client, fullZod = false, leaveOut = false, lateBuiltins = false, options } = way;
  const plugins: Plugin[] = [
    ...(client === undefined ? [] : [replace(/\/dynamodb-client\.ts$/, join(variantsDirectory, client))]),
    ...(leaveOut ? [leftOut()] : []),
    ...(lateBuiltins ? [builtins()] : []),
  ];
  return run({
    ...bundleOptions,
    ...options,
    entryPoints: [`functions/${entry}.ts`],
    outdir: directory,
    plugins,
    ...(fullZod && { alias: { 'zod/mini': 'zod' } }),
  });
}

/** Builds a peer the way most functions are: one file of CommonJS. */
export async function buildPeer(file: string, directory: string): Promise<Built> {
  return run({
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'cjs',
    outExtension: { '.js': '.cjs' },
    minify: true,
    logLevel: 'error',
    metafile: true,
    entryPoints: [join(variantsDirectory, file)],
    outdir: directory,
  });
}

async function run(options: BuildOptions & { outdir: string }): Promise<Built> {
  const { metafile } = await build({ ...options, metafile: true });
  return { directory: options.outdir, ...sizes(metafile) };
}

export function sizes({ outputs }: Metafile): Pick<Built, 'startBytes' | 'allBytes'> {
  const start = new Set<string>();
  const visit = (path: string): void => {
    if (start.has(path)) return;
    start.add(path);
    for (const { path: imported, kind, external } of outputs[path]!.imports) {
      if (kind === 'import-statement' && external !== true) visit(imported);
    }
  };
  for (const [path, { entryPoint }] of Object.entries(outputs)) if (entryPoint !== undefined) visit(path);
  const sum = (paths: Iterable<string>) =>
    [...paths].reduce((bytes, path) => bytes + outputs[path]!.bytes, 0);
  return { startBytes: sum(start), allBytes: sum(Object.keys(outputs)) };
}

/** Loads the function once and keeps what V8 compiled: https://nodejs.org/api/module.html#module-compile-cache */
export async function fillCompileCache(
  { directory }: Built,
  cache: string,
  environment: Readonly<Record<string, string>>,
): Promise<void> {
  const file = (await readdir(directory)).find((name) => name.endsWith('js'));
  const program = `const { flushCompileCache } = await import('node:module');
    await import(${JSON.stringify(join(directory, file!))}); flushCompileCache(); process.exit();`;
  const env = { ...lambdaVariables, ...environment, NODE_COMPILE_CACHE: cache };
  await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program], { env });
  if ((await stat(cache)).size === 0) throw new Error('Nothing was cached');
}

function replace(filter: RegExp, path: string): Plugin {
  return { name: 'replace', setup: (bundling) => bundling.onResolve({ filter }, () => ({ path })) };
}
