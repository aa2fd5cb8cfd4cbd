import type { Plugin } from 'esbuild';

/**
 * Loads Node.js modules when one of their functions is first called, not when the bundle is loaded. Signing a request loads
 * 19 modules inside Node.js, opening TLS another 8, and importing an ES module reads each of its exports, many of which are
 * getters that load more.
 *
 * Only functions can be loaded late. Classes and constants are read when the bundle is loaded.
 * https://nodejs.org/api/process.html#processgetbuiltinmoduleid
 */
export function builtins(): Plugin {
  const namespace = 'builtin';
  return {
    name: 'builtins',
    setup(build) {
      build.onResolve({ filter: /^node:/ }, ({ path, kind }) =>
        kind === 'import-statement' ? { path, namespace, sideEffects: false } : undefined,
      );
      build.onLoad({ filter: /.*/, namespace }, ({ path }) => ({ contents: lazyModule(path), loader: 'js' }));
    },
  };
}

/** esbuild removes unused exports. */
function lazyModule(path: string): string {
  const exports = Object.entries(process.getBuiltinModule(path) ?? {}).filter(([name]) => name !== 'default');
  return [
    `const $module = () => globalThis.process.getBuiltinModule('${path}');`,
    `export default /* @__PURE__ */ new Proxy({}, { get: (_, name) => $module()[name] });`,
    ...exports.map(
      ([name, value]) =>
        `export const ${name} = ${isFunction(name, value) ? lazyCall(name) : eagerRead(name)};`,
    ),
  ].join('\n');
}

/** A function that is not a class, by its name. */
function isFunction(name: string, value: unknown): boolean {
  return typeof value === 'function' && /^[a-z]/.test(name);
}

function lazyCall(name: string): string {
  return `(...args) => $module().${name}(...args)`;
}

function eagerRead(name: string): string {
  return `/* @__PURE__ */ (() => $module().${name})()`;
}
