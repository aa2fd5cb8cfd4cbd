import type { Plugin } from 'esbuild';

/**
 * Has Node.js load its own modules when something in them is first called, not when the function starts. To sign one
 * request takes 19 modules inside Node.js, to open TLS another 8, and to import a module as an ES module reads each of its
 * exports, many of which are getters that load something more.
 *
 * Functions are called through; classes and constants, which cannot be, are fetched at start.
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
      build.onLoad({ filter: /.*/, namespace }, ({ path }) => ({ contents: lateModule(path), loader: 'js' }));
    },
  };
}

/** What is not used of it does not get into the bundle. */
function lateModule(path: string): string {
  const exports = Object.entries(process.getBuiltinModule(path) ?? {}).filter(([name]) => name !== 'default');
  return [
    `const $module = () => globalThis.process.getBuiltinModule('${path}');`,
    `export default /* @__PURE__ */ new Proxy({}, { get: (_, name) => $module()[name] });`,
    ...exports.map(
      ([name, value]) => `export const ${name} = ${isCallable(name, value) ? called(name) : fetched(name)};`,
    ),
  ].join('\n');
}

/** A function, and by its name no class. */
function isCallable(name: string, value: unknown): boolean {
  return typeof value === 'function' && /^[a-z]/.test(name);
}

function called(name: string): string {
  return `(...args) => $module().${name}(...args)`;
}

function fetched(name: string): string {
  return `/* @__PURE__ */ (() => $module().${name})()`;
}
