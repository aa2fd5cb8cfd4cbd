import { createRequire } from 'node:module';
import { runInThisContext } from 'node:vm';
import { build, type Plugin } from 'esbuild';
import { bundleOptions } from '../../lib/bundler/bundle.ts';
import { type FunctionEntry, functionEntries } from '../../lib/operations.ts';
import type { World } from './world.ts';

/*
 * The functions as they are bundled, each execution environment with its own modules, clock, random numbers and network. The
 * packages that they use (SDK, middy, zod) are loaded once, because they keep nothing between calls but what a client has.
 */

export type Handler = (event: unknown, context: unknown) => Promise<unknown>;

/** What an execution environment gets of the machine that it runs on. */
export interface Machine {
  readonly world: World;
  readonly variables: Readonly<Record<string, string>>;
  /** Milliseconds by which its clock is ahead. */
  readonly clockOffset: number;
  /** In [0, 1). */
  readonly random: () => number;
  readonly log: (line: string) => void;
  readonly handle: RequestHandler;
}

export type RequestHandler = (
  request: { readonly headers: Readonly<Record<string, string>>; readonly body: string | Uint8Array },
  options: { readonly abortSignal?: AbortSignal; readonly requestTimeout: number },
) => Promise<{ readonly response: object }>;

type Modules = Readonly<Record<string, unknown>>;
type Evaluate = (scope: Readonly<Record<string, unknown>>) => Modules;

const nodeModules = createRequire(import.meta.url);

/** Instead of functions/dynamodb/request-handler.ts, the only part of the functions that reaches a network. */
const simulatedNetwork: Plugin = {
  name: 'simulated-network',
  setup(bundling) {
    bundling.onLoad({ filter: /\/request-handler\.ts$/ }, () => ({
      contents: `export const newRequestHandler = ({ requestTimeout }) => ({
        metadata: { handlerProtocol: 'http/1.1' },
        destroy() {},
        handle: (request, options) => simulatedHandle(request, { ...options, requestTimeout }),
      });`,
    }));
  },
};

const { absWorkingDir, platform, target, mainFields, bundle, logLevel, plugins } = bundleOptions('', '');
const options = {
  absWorkingDir,
  platform,
  target,
  mainFields: [...mainFields],
  bundle,
  logLevel,
  format: 'cjs' as const,
  write: false as const,
  metafile: true as const,
};

const functions = await build({
  ...options,
  entryPoints: functionEntries.map((entry) => `functions/${entry}.ts`),
  outdir: 'functions',
  packages: 'external',
  sourcemap: 'inline',
  plugins: [simulatedNetwork],
});
const imports = Object.values(functions.metafile.outputs).flatMap((output) => output.imports);
const packages = [...new Set(imports.map(({ path }) => path))].filter((path) => !path.startsWith('node:'));
const libraries = await build({
  ...options,
  stdin: {
    contents: packages.map((path, index) => `export * as package${index} from '${path}';`).join('\n'),
    resolveDir: absWorkingDir,
  },
  plugins: [...plugins],
});

/** What code of a function or of a package finds in its scope instead of what Node.js has. */
const replaced = [
  'module',
  'require',
  'process',
  'console',
  'Date',
  'Math',
  'performance',
  'setTimeout',
  'clearTimeout',
  'simulatedHandle',
] as const;

function compile(code: string, filename: string): Evaluate {
  const evaluate = runInThisContext(`(function (${replaced.join(',')}) { ${code}\n})`, { filename }) as (
    ...values: unknown[]
  ) => void;
  return (scope) => {
    const module = { exports: {} };
    evaluate(...replaced.map((name) => (name === 'module' ? module : scope[name])));
    return module.exports;
  };
}

const compiled = new Map<string, Evaluate>(
  functions.outputFiles.map(({ path, text }, index) => [
    functionEntries[index]!,
    compile(withoutCopies(text), path),
  ]),
);

/** esbuild copies every package that a function imports, in case it is CommonJS. */
function withoutCopies(code: string): string {
  return code.replaceAll(/__toESM\((require\([^)]*\))[^)]*\)/g, '$1');
}

/** The world that the packages run in: one at a time. */
let current: World | undefined;

const packageScope = scopeOf(
  () => current!,
  0,
  () => current!.random(),
);
const loaded = compile(
  libraries.outputFiles[0]!.text,
  'packages.cjs',
)({
  ...packageScope,
  process,
  console,
  require: nodeModules,
});

function scopeOf(world: () => World, clockOffset: number, random: () => number) {
  const now = () => world().now + clockOffset;
  class MachineDate extends Date {
    constructor(...[time = now()]: [number?]) {
      super(time);
    }
    static override now = now;
  }
  return {
    Date: MachineDate,
    Math: Object.create(Math, { random: { value: random } }) as Math,
    performance: { now: () => world().now },
    setTimeout: (run: (...values: unknown[]) => void, milliseconds = 0, ...values: unknown[]) =>
      world().after(milliseconds, () => run(...values)),
    clearTimeout: (timer: never) => world().cancel(timer),
  };
}

/** Starts an execution environment of a function. */
export function start(entry: FunctionEntry, machine: Machine): Handler {
  const { world, variables, clockOffset, random, log, handle } = machine;
  current = world;
  const scope = scopeOf(() => world, clockOffset, random);
  const replacedModules: Readonly<Record<string, unknown>> = {
    'node:timers/promises': {
      setTimeout: (milliseconds: number, value: unknown, { signal }: { signal?: AbortSignal } = {}) =>
        new Promise((resolve, reject) => {
          signal?.throwIfAborted();
          const timer = world.after(milliseconds, () => resolve(value));
          signal?.addEventListener('abort', () => {
            world.cancel(timer);
            reject(Object.assign(new Error('The operation was aborted'), { name: 'AbortError' }));
          });
        }),
    },
  };
  const require = (name: string): unknown => {
    const index = packages.indexOf(name);
    return index < 0 ? (replacedModules[name] ?? nodeModules(name)) : loaded[`package${index}`];
  };
  const { handler } = compiled.get(entry)!({
    ...scope,
    require,
    process: { env: variables, stdout: { write: log } },
    console: { info: log, error: log, warn: log },
    simulatedHandle: handle,
  });
  return handler as Handler;
}
