import { type ChildProcess, spawn } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { forwardPrograms, hiddenAddress } from './no-browsers.ts';

/**
 * The process between the service and the database. It ends the database when the channel to the service closes, which
 * also happens when the service is killed.
 */

const { port, temporaryDirectory, ...started } = z
  .intersection(
    z.object({ port: z.number(), temporaryDirectory: z.string() }),
    z.discriminatedUnion('database', [
      z.object({
        database: z.literal('dynoxide'),
        program: z.string(),
        file: z.string().optional(),
      }),
      z.object({
        database: z.literal('dynamodb-local'),
        installPath: z.string(),
        dataDirectory: z.string().optional(),
      }),
    ]),
  )
  .parse(JSON.parse(process.argv[2] ?? ''));

// Only the owner can read the data files.
process.umask(0o077);
let lastError = '';
start().then(keep, (error: Error) => report(error.message));

function keep(child: ChildProcess): void {
  const end = () => child.kill('SIGKILL');
  process.on('disconnect', end);
  child.on('exit', (code, signal) => {
    rmSync(temporaryDirectory, { recursive: true, force: true });
    report(signal ?? [`exit code ${code}`, lastError].filter((part) => part !== '').join(': '));
  });
  child.on('error', (error) => {
    if (child.pid === undefined) report(error.message);
  });
  // The service may have ended before, which the channel may not know yet.
  if (process.connected) process.send?.({ pid: child.pid }, (error) => error && end());
  else end();
}

/** Tells the service why the database has ended. */
function report(ended: string): void {
  if (process.connected) process.send?.({ ended }, () => process.exit());
  else process.exit();
}

function start(): Promise<ChildProcess> {
  return started.database === 'dynoxide' ? startDynoxide(started) : startDynamoDbLocal(started);
}

async function startDynoxide({
  program,
  file,
}: {
  program: string;
  file?: string | undefined;
}): Promise<ChildProcess> {
  const address = await hiddenAddress();
  await forwardPrograms(port, address);
  const args = ['--host', address.host, '--port', String(address.port)];
  const dynoxide = spawn(program, [...args, ...(file === undefined ? [] : ['--db-path', file])], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  dynoxide.stderr.on('data', (chunk: Buffer) => (lastError = chunk.toString().trim()));
  return dynoxide;
}

async function startDynamoDbLocal({
  installPath,
  dataDirectory,
}: {
  installPath: string;
  dataDirectory?: string | undefined;
}): Promise<ChildProcess> {
  const { default: launcher } = await import('dynamodb-local');
  const javaOptions = `
# Without Java's second compiler, which uses one processor for the first minute.
-XX:TieredStopAtLevel=1
# Collects a small heap with less processor time than the default collector.
-XX:+UseSerialGC
# Writes no file outside of the temporary directory.
-XX:-UsePerfData
-Djava.io.tmpdir=${JSON.stringify(temporaryDirectory)}
`;
  // The launcher takes one option, so this is a file of them.
  const optionsFile = join(temporaryDirectory, 'java-options');
  writeFileSync(optionsFile, javaOptions);
  launcher.configureInstaller({ installPath });
  return launcher.launch(port, dataDirectory, [], false, undefined, `@${optionsFile}`);
}
