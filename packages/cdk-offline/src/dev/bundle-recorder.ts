import childProcess, { type SpawnSyncOptions } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

/**
 * Loaded into the process of a CDK app with `--import`: writes each call of esbuild, as a line of JSON, into the file that
 * the environment variable names. The assembly does not say how a function was bundled.
 */
const { CDK_OFFLINE_BUNDLES: file } = process.env;
const { spawnSync } = childProcess;
if (file !== undefined) {
  Object.assign(childProcess, {
    spawnSync: (command: string, args: readonly string[] = [], options: SpawnSyncOptions = {}) => {
      // Also `npx esbuild`, and a line of a shell.
      if ([command, ...args].some((word) => /\besbuild\b/.test(word))) {
        appendFileSync(
          file,
          `${JSON.stringify({ command, args, cwd: String(options.cwd ?? process.cwd()) })}\n`,
        );
      }
      return spawnSync(command, args, options);
    },
  });
  syncBuiltinESMExports();
}
