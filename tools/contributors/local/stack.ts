import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { defaultName, stackNameOf } from '../../operators/command-line/project-file.ts';
import { readableTrace } from './readable.ts';

export const localStage = 'local';
export const localStackName = stackNameOf(localStage);
/** The folder of cdk.json. */
export const project = join(import.meta.dirname, '..', '..', '..');

/**
 * Writes the assembly of the local stage, with the template and bundles that `cdk deploy` would deploy: as the CDK CLI does, but
 * several seconds faster. The best-practice checks are for the other stages; they take half of the time.
 *
 * @throws Error with the output of the app when it fails
 */
export async function synthesizeLocal(assembly: string): Promise<void> {
  const { context } = JSON.parse(await readFile(join(project, 'cdk.json'), 'utf8')) as { context: object };
  const child = spawn(process.execPath, ['bin/animal-store.ts'], {
    cwd: project,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: {
      ...process.env,
      CDK_OUTDIR: assembly,
      CDK_CONTEXT_JSON: JSON.stringify({ ...context, name: defaultName, stage: localStage }),
      CDK_VALIDATION: 'false',
    },
    // In a new process group, because the app's child processes must end with it.
    detached: process.platform !== 'win32',
  });
  const end = (): void => endGroup(child.pid);
  // Before temporary folders are removed.
  process.prependOnceListener('exit', end);
  try {
    const [[code], errors] = await Promise.all([once(child, 'exit'), text(child.stderr)]);
    if (code !== 0) throw new Error(`The CDK app failed:\n${appError(errors)}`);
  } finally {
    process.removeListener('exit', end);
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

/** What the app printed, without the progress of the CDK, its reports, and the frames of packages and of Node.js. */
function appError(printed: string): string {
  return (
    readableTrace(printed)
      .split('\n')
      .filter((line) => !/^(?:Bundling asset |Node\.js v\d|npm warn )/.test(line))
      .filter((line) => !/^\s+at .*[\\/]node_modules[\\/]/.test(line))
      .join('\n')
      // The line of a package or of Node.js that throws, which may be minified.
      .replaceAll(/^(?:node:\S+|.*[\\/]node_modules[\\/].*):\d+\n.*\n\s*\^*\s*\n/gm, '')
      .replaceAll(/\n{3,}/g, '\n\n')
      .trim()
  );
}
