import { AsyncLocalStorage } from 'node:async_hooks';
import { createRequire, SourceMap } from 'node:module';
import { join } from 'node:path';
import { constants, runInThisContext } from 'node:vm';
import { type Machine, scopeOf } from './globals.ts';
import type { RequestHandler } from './network.ts';
import { sourceMaps } from './story.ts';

/** @ts-ignore Without esbuild, which is optional, it is any. */
type BuildOptions = import('esbuild').BuildOptions; // oxlint-disable-line typescript/consistent-type-imports
type Plugin = NonNullable<BuildOptions['plugins']>[number];

/** An execution environment on a machine: what its code finds there. */
export interface Host extends Machine {
  readonly variables: Readonly<Record<string, string>>;
  readonly log?: (line: string) => void;
  readonly requestHandler: RequestHandler;
}

export interface BundleOptions {
  /** The files of the functions, by name. */
  readonly entryPoints: Readonly<Record<string, string>>;
  /** As functions are built: plugins, working directory, conditions. */
  readonly esbuild?: BuildOptions;
  /** Names of packages that keep something: each environment has its own. */
  readonly own?: readonly string[];
}

type Modules = Readonly<Record<string, unknown>>;
type Scope = ReturnType<typeof scopeOf>;
type Evaluate = (scope: Readonly<Record<string, unknown>>) => Modules;

/** What code finds in its scope instead of what Node.js has. */
const replaced = [
  'module',
  'require',
  'process',
  'console',
  'Date',
  'Math',
  'Intl',
  'crypto',
  'performance',
  'setTimeout',
  'setInterval',
  'clearTimeout',
  'clearInterval',
  'NetworkHandler',
] as const;

const hosts = new AsyncLocalStorage<Host>();

function host(): Host {
  return hosts.getStore() ?? fail();
}

function fail(): never {
  throw new Error('Code of a package runs outside of an execution environment.');
}

/** What the SDK has as NodeHttpHandler and NodeHttp2Handler. */
class NetworkHandler {
  readonly metadata = { handlerProtocol: 'http/1.1' };
  readonly #options: { readonly requestTimeout?: number };

  constructor(options: { readonly requestTimeout?: number } = {}) {
    this.#options = options;
  }

  static create(given: object | undefined): object {
    return given !== undefined && 'handle' in given ? given : new NetworkHandler(given);
  }

  handle(request: never, options: object = {}): unknown {
    const { requestTimeout } = this.#options;
    return host().requestHandler.handle(request, { ...(requestTimeout && { requestTimeout }), ...options });
  }

  updateHttpClientConfig(): void {}
  httpHandlerConfigs(): object {
    return this.#options;
  }
  destroy(): void {}
}

const withoutNetwork: Plugin = {
  name: 'without-network',
  setup(bundling) {
    bundling.onResolve({ filter: /^@smithy\/node-http-handler$/ }, ({ path }) => ({
      path,
      namespace: 'without-network',
    }));
    bundling.onLoad({ filter: /.*/, namespace: 'without-network' }, () => ({
      contents: `export const NodeHttpHandler = NetworkHandler, NodeHttp2Handler = NetworkHandler;
        export const streamCollector = async (body) => body;
        export const DEFAULT_REQUEST_TIMEOUT = 0;`,
    }));
  },
};

/** Loads packages that are imported when they are needed as all others. */
const importedLater: Plugin = {
  name: 'imported-later',
  setup(bundling) {
    bundling.onResolve({ filter: /^[^./]/ }, ({ path, kind, namespace }) => {
      if (namespace === 'imported-later') return { path, external: true };
      return kind === 'dynamic-import' ? { path, namespace: 'imported-later' } : undefined;
    });
    bundling.onLoad({ filter: /.*/, namespace: 'imported-later' }, ({ path }) => ({
      contents: `export * from '${path}';`,
    }));
  },
};

/** Takes packages into the functions. */
const including = (names: readonly string[]): Plugin => ({
  name: 'including',
  setup(bundling) {
    bundling.onResolve({ filter: /^[^./]/ }, ({ path, kind, resolveDir }) =>
      kind !== 'entry-point' && names.some((name) => path === name || path.startsWith(`${name}/`))
        ? { path: createRequire(join(resolveDir, 'package.json')).resolve(path) }
        : undefined,
    );
  },
});

/**
 * Functions of which each execution environment has its own modules, clock, timers, random numbers, variables and network. The
 * packages that they import are loaded once, because most keep nothing between calls but what a client has: `explore` refuses one that
 * does, which belongs in `own`. Needs esbuild.
 */
export class Bundle {
  readonly #functions: ReadonlyMap<string, Evaluate>;
  readonly #require: (scope: Scope) => (id: string) => unknown;

  private constructor(
    functions: ReadonlyMap<string, Evaluate>,
    require: (scope: Scope) => (id: string) => unknown,
  ) {
    this.#functions = functions;
    this.#require = require;
  }

  static async build({ entryPoints, esbuild = {}, own = [] }: BundleOptions): Promise<Bundle> {
    const { build } = await import('esbuild');
    const { absWorkingDir = process.cwd(), plugins = [] } = esbuild;
    const require = cached(createRequire(join(absWorkingDir, 'package.json')));
    const options = {
      platform: 'node',
      target: 'node22',
      ...esbuild,
      absWorkingDir,
      bundle: true,
      format: 'cjs',
      write: false,
      metafile: true,
    } as const;
    const names = Object.keys(entryPoints);
    const functions = await build({
      ...options,
      entryPoints: Object.entries(entryPoints).map(([out, path]) => ({ in: path, out })),
      outdir: 'functions',
      packages: 'external',
      plugins: [including(own), importedLater, ...plugins],
      sourcemap: 'inline',
    });
    const imports = Object.values(functions.metafile.outputs).flatMap((output) => output.imports);
    const packages = [...new Set(imports.map(({ path }) => path))].filter(
      (path) => !path.startsWith('node:'),
    );
    const libraries = await build({
      ...options,
      stdin: {
        contents: packages.map((path, index) => `export * as package${index} from '${path}';`).join('\n'),
        resolveDir: absWorkingDir,
      },
      plugins: [withoutNetwork, ...plugins],
    });
    const load = compile(libraries.outputFiles[0]!.text, join(absWorkingDir, 'node_modules', 'packages.cjs'));
    // Packages are shared, so they do not draw from the random numbers of one environment.
    const scope = scopeOf(() => ({ ...host(), ...host().world.ofPackages }));
    const loaded = load({
      ...scope,
      NetworkHandler,
      process: Object.create(process, {
        env: { get: () => hosts.getStore()?.variables ?? process.env },
        ...Object.getOwnPropertyDescriptors(scope.timesOfProcess),
      }) as object,
      console,
      require: requireOf(scope, require),
    });
    const compiled = functions.outputFiles.map(({ path, text }, index) => {
      const [, map = ''] = /sourceMappingURL=.*base64,(.*)/.exec(text)!;
      sourceMaps.set(path, new SourceMap(JSON.parse(Buffer.from(map, 'base64').toString()) as never));
      return [names[index]!, compile(withoutCopies(text), path)] as const;
    });
    return new Bundle(new Map(compiled), (of) => {
      const builtin = requireOf(of, require);
      return (id) => (packages.includes(id) ? loaded[`package${packages.indexOf(id)}`] : builtin(id));
    });
  }

  /** Starts an execution environment of a function. Returns what its file exports. */
  start(name: string, on: Host): Modules {
    const { variables, log = () => {} } = on;
    const scope = scopeOf(() => on);
    const evaluate = this.#functions.get(name);
    if (evaluate === undefined) throw new Error(`No function of the bundle is called "${name}".`);
    const exports = hosts.run(on, () =>
      evaluate({
        ...scope,
        require: this.#require(scope),
        NetworkHandler,
        process: {
          env: variables,
          stdout: { write: log },
          nextTick: process.nextTick.bind(process),
          ...scope.timesOfProcess,
        },
        console: { log, info: log, error: log, warn: log, debug: log },
      }),
    );
    return Object.fromEntries(
      Object.entries(exports).map(([key, value]) => [
        key,
        typeof value === 'function'
          ? (...values: unknown[]) =>
              hosts.run(on, () => (value as (...all: unknown[]) => unknown)(...values))
          : value,
      ]),
    );
  }
}

function requireOf({ builtin }: Scope, require: (id: string) => unknown) {
  return (id: string): unknown => builtin(id) ?? require(id);
}

/** Each environment requires the same modules of Node.js again, which has to find them each time. */
function cached(require: NodeJS.Require): (id: string) => unknown {
  const found = new Map<string, unknown>();
  return (id) => {
    if (!found.has(id)) found.set(id, require(id));
    return found.get(id);
  };
}

function compile(code: string, filename: string): Evaluate {
  const evaluate = runInThisContext(`(function (${replaced.join(',')}) { ${code}\n})`, {
    filename,
    // Of files whose names are not known before, as Node.js does it.
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  }) as (...values: unknown[]) => void;
  return (scope) => {
    const module = { exports: {} };
    evaluate(...replaced.map((name) => (name === 'module' ? module : scope[name])));
    return module.exports;
  };
}

/** esbuild copies every package that a function imports, in case it is CommonJS. */
function withoutCopies(code: string): string {
  return code.replaceAll(/__toESM\((require\([^)]*\))[^)]*\)/g, '$1');
}
