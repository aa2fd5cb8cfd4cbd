import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { z } from 'zod';

const projectDirectory = join(import.meta.dirname, '..', '..');
const cdkJson = z.object({ context: z.record(z.string(), z.unknown()).default({}) });

/**
 * Runs the CDK app for the local stage in a separate process with the context of cdk.json, as the CDK CLI does.
 *
 * @param signal ends the process
 * @throws Error with the output of the app when it fails
 */
export async function synthesize(outputDirectory: string, signal?: AbortSignal): Promise<void> {
  const { context } = cdkJson.parse(JSON.parse(await readFile(join(projectDirectory, 'cdk.json'), 'utf8')));
  signal?.throwIfAborted();
  const app = spawn(process.execPath, [join(projectDirectory, 'bin', 'animal-store.ts')], {
    cwd: projectDirectory,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: {
      ...process.env,
      CDK_OUTDIR: outputDirectory,
      CDK_CONTEXT_JSON: JSON.stringify({ ...context, stage: 'local' }),
      // The tests and `cdk deploy` run the best-practice checks, which take half of the time.
      CDK_VALIDATION: 'false',
    },
    // In a new process group, because the app's child processes must end with it.
    detached: process.platform !== 'win32',
  });
  const end = (): void => endGroup(app.pid);
  process.once('exit', end);
  signal?.addEventListener('abort', end, { once: true });
  try {
    const exited = new Promise<number | null>((resolve, reject) => {
      app.once('exit', resolve);
      app.once('error', reject);
    });
    const [code, errors] = await Promise.all([exited, text(app.stderr)]);
    signal?.throwIfAborted();
    if (code !== 0) throw new Error(`The CDK app failed:\n${withoutProgress(errors)}`);
  } finally {
    process.removeListener('exit', end);
    signal?.removeEventListener('abort', end);
  }
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, 'SIGKILL');
  } catch {
    // It has already ended.
  }
}

function withoutProgress(output: string): string {
  return output.replaceAll(/^Bundling asset .*\n/gm, '').trim();
}
