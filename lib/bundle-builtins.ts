import type { Plugin } from 'esbuild';

/**
 * Modules of Node.js that load when something in them is first called, not when the function starts, or at least no more
 * of them than is used. Each names what may be imported from it: anything else does not build, and has to be weighed first.
 */
const listed: Readonly<Record<string, string>> = {
  // Signatures and hashes: 19 modules inside Node.js. `randomUUID` is for bundle-left-out.ts.
  'node:crypto': functions('node:crypto', [
    'createHash',
    'createHmac',
    'randomInt',
    'randomUUID',
    'getRandomValues',
  ]),
  // The SDK's request handler takes the whole module; it brings TLS, which is 8 modules inside Node.js.
  'node:https': `
    const load = () => process.getBuiltinModule('node:https');
    export default { get Agent() { return load().Agent }, get request() { return load().request } };`,
  // Checksums of cursors and keys; it brings streams of compression along.
  'node:zlib': functions('node:zlib', ['crc32']),
  // Merely to look at what the module has loads the parser of command lines, colours, diffs and more.
  'node:util': `export const { MIMEType } = process.getBuiltinModule('node:util');`,
};

/**
 * Hands out Node.js's own modules through `process.getBuiltinModule`. Imported as ES modules, each of their exports is
 * read while the function starts, and many are getters that load something more.
 *
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
      build.onLoad({ filter: /.*/, namespace }, ({ path }) => ({
        contents: listed[path] ?? `module.exports = process.getBuiltinModule(${JSON.stringify(path)});`,
        loader: 'js',
      }));
    },
  };
}

function functions(module: string, names: readonly string[]): string {
  return [
    `const load = () => process.getBuiltinModule('${module}');`,
    ...names.map((name) => `export const ${name} = (...call) => load().${name}(...call);`),
  ].join('\n');
}
