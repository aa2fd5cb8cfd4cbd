import type { SpawnSyncOptions } from 'node:child_process';

/**
 * Loaded into the process of a CDK app: writes each call of esbuild, as a line of JSON, into the file that the environment
 * variable names. The assembly does not say how a function was bundled. CommonJS, because `--import` would make Node.js load
 * the app as an ES module, past the hooks of ts-node.
 */
const { CDK_OFFLINE_BUNDLES: file } = process.env;
const childProcess = process.getBuiltinModule('node:child_process');
const { appendFileSync } = process.getBuiltinModule('node:fs');
const { spawnSync } = childProcess;
if (file !== undefined) {
  Object.assign(childProcess, {
    spawnSync: (command: string, args: readonly string[] = [], options: SpawnSyncOptions = {}) => {
      // Also `npx esbuild`, and a line of a shell.
      if ([command, ...args].some((word) => /\besbuild\b/.test(word))) {
        const call = { command, args, cwd: String(options.cwd ?? process.cwd()) };
        appendFileSync(file, `${JSON.stringify(call)}\n`);
      }
      return spawnSync(command, args, options);
    },
  });
  process.getBuiltinModule('node:module').syncBuiltinESMExports();
}
