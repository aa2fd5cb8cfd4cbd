import { fork } from 'node:child_process';
import { chmod, mkdir, readFile, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { lockDirectory } from '../system/directory-lock.ts';
import { freePort, isPortFree } from '../system/ports.ts';
import { requestLocally } from '../http/loopback.ts';
import { moduleBeside } from '../system/own-module.ts';
import { localCredentials } from '../template/aws.ts';
import { temporaryDirectory } from '../system/temporary-directory.ts';
import { writeWhole } from '../system/whole-file.ts';
import { credentialsOf, type DynamoDbCredentials, keptAccessKeyId, newAccessKeyId } from './credentials.ts';
import { findInstallation } from './dynamodb-local.ts';
import { dynoxideFile, findDynoxide } from './dynoxide.ts';
import { chooseDatabase, type DatabaseName, engines, requireOwnDirectory } from './engines.ts';
import { javaEnvironment } from './java.ts';

export interface LocalDynamoDb {
  /** `http://127.0.0.1:PORT`; stays the same when the database is restarted. */
  readonly endpoint: string;
  /**
   * Of DynamoDB Local, where other credentials see no tables of these: random for each run, or kept in the data directory.
   * Dynoxide accepts any.
   */
  readonly credentials: DynamoDbCredentials;
  /** Resolves when the process of the database has ended. May be called more than once. */
  stop(): Promise<void>;
}

export interface LocalDynamoDbOptions {
  /** When absent Dynoxide, or DynamoDB Local where Dynoxide is not installed. */
  readonly database?: DatabaseName | undefined;
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
/** For the database of a service that was killed. */
const leftoverTimeoutMs = 5_000;

/**
 * Starts Dynoxide or DynamoDB Local. With a data directory a database that ends unexpectedly is restarted on the same port
 * with the same data.
 *
 * Dynoxide listens on 127.0.0.1, and whatever program calls it sees all tables. DynamoDB Local listens on every interface of the
 * machine, has no option to change that, and has tables of its own for each access key and Region.
 *
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/DynamoDBLocal.UsageNotes.html
 *
 * @param temporaryParent a folder for the database's temporary files; the system's when absent
 * @throws Error that says what to do: no database is installed, the port is taken, the data directory is in use or has
 * tables of the other database, or it does not start
 */
export async function startDynamoDb(
  options: LocalDynamoDbOptions = {},
  temporaryParent?: string,
): Promise<LocalDynamoDb> {
  const database = await chooseDatabase(options.database);
  const { label } = engines[database];
  const { onProgress = () => {}, onLost = () => {} } = options;
  const dataDirectory = options.dataDirectory === undefined ? undefined : resolve(options.dataDirectory);
  const place = { database, dataDirectory, temporaryParent };
  const unlock = dataDirectory === undefined ? async () => {} : await takeDirectory(database, dataDirectory);
  let run: Run;
  let accessKeyId: string;
  try {
    accessKeyId = await accessKeyIdOf(place);
    run = await startOnce(place, options.port ?? 0);
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
      void onLost(new Error(`${label} ended (${reason}). Its data was in memory and is lost.`));
      return;
    }
    onProgress(`${label} ended (${reason}). Restarting it with the same data.`);
    restarting = restart();
  };
  const restart = async (): Promise<void> => {
    try {
      run = await startOnce(place, port);
      void watch();
    } catch (error) {
      stopped = true;
      const message = `${label} ended and cannot be restarted: ${String(error)}`;
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

interface Place {
  readonly database: DatabaseName;
  readonly dataDirectory: string | undefined;
  readonly temporaryParent: string | undefined;
}

async function accessKeyIdOf({ database, dataDirectory }: Place): Promise<string> {
  if (database === 'dynoxide') return localCredentials.accessKeyId;
  return dataDirectory === undefined ? newAccessKeyId() : keptAccessKeyId(dataDirectory);
}

/** One process of the database. */
interface Run {
  readonly port: number;
  /** Resolves with the reason when the process has ended. */
  readonly ended: Promise<string>;
  readonly stop: () => Promise<void>;
}

async function startOnce(place: Place, port: number): Promise<Run> {
  const program = await programOf(place);
  for (let attempt = 1; ; attempt += 1) {
    try {
      if (port !== 0 && !(await isPortFree(port))) {
        throw new Error(`Port ${port} for ${engines[place.database].label} is in use.`);
      }
      // Another process may take a free port before the database listens on it.
      return await startOnPort(program, port === 0 ? await freePort() : port, place);
    } catch (error) {
      if (attempt === startAttempts) throw error;
      await sleep(pollMs);
    }
  }
}

/** What the keeper has to start. */
async function programOf({ database, dataDirectory }: Place): Promise<object> {
  if (database === 'dynamodb-local') {
    return { database, installPath: await findInstallation(), dataDirectory };
  }
  const file = dataDirectory && join(dataDirectory, dynoxideFile);
  return { database, program: findDynoxide(), file };
}

const fromKeeper = z.union([z.object({ pid: z.number() }), z.object({ ended: z.string() })]);

async function startOnPort(
  program: object,
  port: number,
  { database, dataDirectory, temporaryParent }: Place,
): Promise<Run> {
  const { label } = engines[database];
  const temporary = temporaryDirectory(temporaryParent);
  const keeper = fork(
    moduleBeside(import.meta.url, 'keeper'),
    [JSON.stringify({ ...program, port, temporaryDirectory: temporary.path })],
    {
      env: { ...javaEnvironment(), DDB_LOCAL_TELEMETRY: '0' },
      execArgv: [],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      detached: true, // outside the process group that gets Ctrl-C: it ends after the service
    },
  );
  let pid: number | undefined;
  let reason: string | undefined;
  const { promise: ended, resolve: end } = Promise.withResolvers<string>();
  keeper.on('message', (data) => {
    const message = fromKeeper.parse(data);
    if ('pid' in message) pid = message.pid;
    else reason = message.ended;
  });
  keeper.on('exit', (code, signal) => {
    if (pid !== undefined && reason === undefined) sendSignal(pid, 'SIGKILL');
    void temporary.remove(); // unless the keeper has done it
    end(reason ?? `its parent process: ${signal ?? `exit code ${code}`}`);
  });
  const stop = async (): Promise<void> => {
    if (keeper.connected) keeper.disconnect();
    keeper.ref();
    await ended;
    if (pid !== undefined) await waitUntilExit(pid);
    if (dataDirectory !== undefined) await rm(processFile(dataDirectory), { force: true });
  };
  const endpoint = `http://127.0.0.1:${port}`;
  try {
    const deadline = Date.now() + startTimeoutMs;
    while (!(await isDynamoDb(endpoint))) {
      if (keeper.exitCode !== null || keeper.signalCode !== null) {
        throw new Error(`${label} ended while it started (${await ended}).`);
      }
      if (Date.now() > deadline) {
        throw new Error(`${label} did not answer within ${startTimeoutMs / 1000} s.`);
      }
      await sleep(pollMs);
    }
    if (dataDirectory !== undefined) {
      await writeWhole(processFile(dataDirectory), JSON.stringify({ pid, endpoint }));
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
 * Locks a data directory of this database, and waits until the database of a service that was killed has ended.
 *
 * @returns releases the lock
 */
async function takeDirectory(database: DatabaseName, dataDirectory: string): Promise<() => Promise<void>> {
  await mkdir(dataDirectory, { recursive: true, mode: 0o700 });
  await chmod(dataDirectory, 0o700);
  const unlock = await lockDirectory(dataDirectory);
  try {
    await requireOwnDirectory(database, dataDirectory);
    const text = await readFile(processFile(dataDirectory), 'utf8').catch(() => undefined);
    const leftover = text === undefined ? undefined : processRecord.safeParse(JSON.parse(text)).data;
    if (leftover !== undefined) await waitUntilEnded(engines[database].label, dataDirectory, leftover);
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
  label: string,
  dataDirectory: string,
  { pid, endpoint }: z.infer<typeof processRecord>,
): Promise<void> {
  const deadline = Date.now() + leftoverTimeoutMs;
  while (sendSignal(pid, 0) && (await isDynamoDb(endpoint))) {
    if (Date.now() > deadline) {
      throw new Error(
        `${dataDirectory} is in use by ${label} of an earlier run (process ${pid}). End it with "kill ${pid}" and start again.`,
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
