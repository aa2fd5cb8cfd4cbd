import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { readableTrace } from '../lambda/trace.ts';

export interface SynthesizeOptions {
  /** The folder of cdk.json. The working directory when absent. */
  readonly project?: string | undefined;
  /** Replaces values of the context in cdk.json and cdk.context.json. */
  readonly context?: Readonly<Record<string, unknown>>;
  /** Environment variables in addition to those of this process. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Apps may build container images. */
const limitMs = 15 * 60_000;

const contextSchema = z.record(z.string(), z.unknown());
const cdkJson = z.object({ app: z.string(), context: contextSchema.default({}) });

/**
 * Runs the app of cdk.json in a separate process, as the CDK CLI does, but several seconds faster.
 *
 * @param assembly the folder that it writes
 * @throws Error with the output of the app when it fails
 */
export async function synthesize(assembly: string, options: SynthesizeOptions = {}): Promise<void> {
  const { project = process.cwd(), context = {}, env = {} } = options;
  const { app, context: ownContext } = cdkJson.parse(
    JSON.parse(await readFile(join(project, 'cdk.json'), 'utf8')),
  );
  const looked = await readFile(join(project, 'cdk.context.json'), 'utf8').catch(() => '{}');
  const child = spawn(app, {
    cwd: project,
    shell: true,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: {
      ...process.env,
      // An app that runs "node" gets the Node.js of this process.
      PATH: [dirname(process.execPath), process.env['PATH']].join(delimiter),
      CDK_OUTDIR: assembly,
      CDK_CONTEXT_JSON: JSON.stringify({
        // As the CDK CLI does.
        'aws:cdk:enable-path-metadata': true,
        ...contextSchema.parse(JSON.parse(looked)),
        ...ownContext,
        ...context,
      }),
      ...env,
    },
    // In a new process group, because the app's child processes must end with it.
    detached: process.platform !== 'win32',
  });
  const end = (): void => endGroup(child.pid);
  const limit = setTimeout(end, limitMs);
  // Before temporary folders are removed.
  process.prependOnceListener('exit', end);
  try {
    const [[code], errors] = await Promise.all([once(child, 'exit'), text(child.stderr)]);
    if (code === null && child.signalCode === 'SIGKILL') {
      throw new Error(
        `The CDK app did not end within ${limitMs / 60_000} minutes: ${app}\n${errors.trim()}`.trim(),
      );
    }
    if (code !== 0) {
      throw new Error(`The CDK app failed:\n${appError(errors)}`);
    }
  } finally {
    clearTimeout(limit);
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
