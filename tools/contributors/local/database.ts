import { fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import {
  chooseDatabase,
  type DatabaseName,
  databaseNames,
  engines,
  findDynoxide,
  findInstallation,
  javaEnvironment,
} from './database-engines.ts';
import { temporaryFolder, withFullDisk } from './folders.ts';
import { freePort, isPortFree } from './ports.ts';
import { writePrivate, writePrivateJson } from './private-file.ts';

/** Starts what serves the tables: Dynoxide, or Amazon's DynamoDB Local. */

/**
 * DynamoDB Local keeps the tables of each access key apart and verifies no signature, so the access key ID is the secret.
 * Dynoxide looks at no access key.
 *
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/DynamoDBLocal.UsageNotes.html
 */
interface DatabaseCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** How a database is called. */
export interface DatabaseAccess {
  /** `http://127.0.0.1:PORT`; stays the same when the database is restarted. */
  readonly endpoint: string;
  readonly credentials: DatabaseCredentials;
}

export interface Database extends DatabaseAccess {
  /** Resolves when the process of the database has ended. May be called more than once. */
  stop(): Promise<void>;
}

export interface DatabaseOptions {
  /** When absent Dynoxide, or DynamoDB Local where Dynoxide is not installed. */
  readonly database?: DatabaseName | undefined;
  /** Keeps tables between runs. The caller sees to it that no other process uses it. In memory when absent. */
  readonly dataFolder?: string | undefined;
  /** For the database's temporary files. The system's when absent. */
  readonly temporaryParent?: string | undefined;
  /** Called with one line when the database ended unexpectedly and is restarted. */
  readonly onProgress?: ((message: string) => void) | undefined;
  /** Called at most once, when the database ended unexpectedly and its data is lost or it cannot be restarted. */
  readonly onLost?: ((error: Error) => void) | undefined;
}

const startAttempts = 3;
const startTimeoutMs = 60_000;
const pollMs = 20;
/** For one answer of the database. */
const answerTimeoutMs = 5_000;
/** For the database of a service that was killed. */
const leftoverTimeoutMs = 5_000;

/**
 * Starts Dynoxide or DynamoDB Local. With a data folder, a database that ends unexpectedly is restarted on the same port with the
 * same data.
 *
 * Dynoxide listens on 127.0.0.1, and whatever program calls it sees all tables. DynamoDB Local listens on every interface of the
 * machine, has no option to change that, and has tables of its own for each access key and Region.
 *
 * @throws Error that says what to do: no database is installed, the data folder is in use or has tables of the other
 * database, or it does not start
 */
export async function startDatabase(options: DatabaseOptions = {}): Promise<Database> {
  const name = await chooseDatabase(options.database);
  const { label } = engines[name];
  const { dataFolder, temporaryParent, onProgress = () => {}, onLost = () => {} } = options;
  if (dataFolder !== undefined) await prepareFolder(name, dataFolder);
  const accessKeyId = name === 'dynoxide' ? 'local' : await accessKeyIdOf(dataFolder);
  const program = name === 'dynoxide' ? findDynoxide() : undefined;
  const installPath = program === undefined ? await findInstallation() : undefined;
  const startOn = (given: number) =>
    startKeeper(label, { program, installPath, dataFolder, temporaryParent }, given);
  let run = await startOn(0);
  const { port } = run;

  let isStopped = false;
  let restarting: Promise<unknown> = Promise.resolve();
  const watch = async (): Promise<void> => {
    const reason = await run.ended;
    if (isStopped) return;
    if (dataFolder === undefined) {
      isStopped = true;
      onLost(new Error(`${label} ended (${reason}). Its data was in memory and is lost.`));
      return;
    }
    onProgress(`${label} ended (${reason}). Restarting it with the same data.`);
    restarting = restart();
  };
  const restart = async (): Promise<void> => {
    try {
      run = await startOn(port);
      void watch();
    } catch (error) {
      isStopped = true;
      onLost(new Error(`${label} ended and cannot be restarted: ${String(error)}`, { cause: error }));
    }
  };
  void watch();
  return {
    endpoint: endpointAt(port),
    credentials: { accessKeyId, secretAccessKey: 'local' },
    stop: async () => {
      isStopped = true;
      await restarting;
      await run.stop();
    },
  };
}

/** The access key ID of a data folder: the one of the first run. @throws Error when the file is damaged */
async function accessKeyIdOf(dataFolder: string | undefined): Promise<string> {
  const random = randomBytes(16).toString('hex');
  if (dataFolder === undefined) return random;
  const path = join(dataFolder, engines['dynamodb-local'].file);
  if (!existsSync(path)) {
    await writePrivate(path, random);
    return random;
  }
  const kept = await readFile(path, 'utf8');
  if (/^[a-z\d]+$/i.test(kept)) return kept;
  throw new Error(`${path} is damaged. Move it to another folder and start again.`);
}

/** What the process between the service and the database is told. */
export interface KeeperOptions {
  /** Of Dynoxide. */
  readonly program: string | undefined;
  /** Of DynamoDB Local. */
  readonly installPath: string | undefined;
  readonly dataFolder: string | undefined;
  readonly port: number;
  readonly temporaryFolder: string;
}

/** One process of the database. */
interface Run {
  readonly port: number;
  /** Resolves with the reason when the process has ended. */
  readonly ended: Promise<string>;
  readonly stop: () => Promise<void>;
}

type Program = Omit<KeeperOptions, 'port' | 'temporaryFolder'> & Pick<DatabaseOptions, 'temporaryParent'>;

async function startKeeper(label: string, program: Program, given: number): Promise<Run> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      if (given !== 0 && !(await isPortFree(given))) throw new Error(`Port ${given} for ${label} is in use.`);
      // Another process may take a free port before the database listens on it.
      return await startOnPort(label, program, given === 0 ? await freePort() : given);
    } catch (error) {
      if (attempt === startAttempts) throw withFullDisk(error, program.dataFolder);
      await sleep(pollMs);
    }
  }
}

const fromKeeper = z.union([z.object({ pid: z.number() }), z.object({ ended: z.string() })]);

async function startOnPort(
  label: string,
  { temporaryParent, ...program }: Program,
  port: number,
): Promise<Run> {
  const temporary = temporaryFolder(temporaryParent);
  const options: KeeperOptions = { ...program, port, temporaryFolder: temporary.path };
  const keeper = fork(new URL('database-keeper.ts', import.meta.url), [JSON.stringify(options)], {
    env: { ...javaEnvironment(), DDB_LOCAL_TELEMETRY: '0' },
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    detached: true, // outside the process group that gets Ctrl-C: it ends after the service
  });
  let pid: number | undefined;
  let reason: string | undefined;
  const { promise: ended, resolve: end } = Promise.withResolvers<string>();
  keeper.on('message', (data) => {
    const message = fromKeeper.parse(data);
    if ('pid' in message) pid = message.pid;
    else reason = message.ended;
  });
  keeper.on('exit', (code, signal) => {
    if (reason === undefined) sendSignal(pid, 'SIGKILL');
    temporary.remove(); // unless the keeper has done it
    end(reason ?? `its parent process: ${signal ?? `exit code ${code}`}`);
  });
  const record = program.dataFolder && processFile(program.dataFolder);
  const stop = async (): Promise<void> => {
    if (keeper.connected) keeper.disconnect();
    keeper.ref();
    await ended;
    while (sendSignal(pid, 0)) await sleep(pollMs);
    if (record !== undefined) await rm(record, { force: true });
  };
  try {
    const deadline = Date.now() + startTimeoutMs;
    while (!(await isDynamoDb(endpointAt(port)))) {
      if (keeper.exitCode !== null || keeper.signalCode !== null)
        throw new Error(`${label} ended while it started (${await ended}).`);
      if (Date.now() > deadline)
        throw new Error(`${label} did not answer within ${startTimeoutMs / 1000} s.`);
      await sleep(pollMs);
    }
    if (record !== undefined) await writePrivateJson(record, { pid, endpoint: endpointAt(port) });
  } catch (error) {
    await stop();
    throw error;
  }
  // A program that does not stop the database can still end, and the database ends with it.
  keeper.unref();
  keeper.channel?.unref();
  return { port, ended, stop };
}

function endpointAt(port: number): string {
  return `http://127.0.0.1:${port}`;
}

/** DynamoDB answers a request without an operation with 400 and a request ID. `fetch` would ask a proxy. */
function isDynamoDb(endpoint: string): Promise<boolean> {
  return new Promise((resolve) => {
    const signal = AbortSignal.timeout(answerTimeoutMs);
    const sent = request(endpoint, { signal, agent: false }, (response) => {
      response.resume();
      resolve(response.headers['x-amzn-requestid'] !== undefined);
    });
    sent.on('error', () => resolve(false));
    sent.end();
  });
}

const processRecord = z.object({ pid: z.number(), endpoint: z.string() });

function processFile(dataFolder: string): string {
  return join(dataFolder, 'process.json');
}

/** Waits until the database of a service that was killed has ended. @throws Error that says why the folder cannot be used */
async function prepareFolder(name: DatabaseName, dataFolder: string): Promise<void> {
  await mkdir(dataFolder, { recursive: true, mode: 0o700 });
  const { label } = engines[name];
  for (const other of databaseNames) {
    if (other === name || !existsSync(join(dataFolder, engines[other].file))) continue;
    throw new Error(
      `${dataFolder} has tables of ${engines[other].label}, which ${label} cannot read. Choose their database (--database ${other}), or another directory.`,
    );
  }
  const text = await readFile(processFile(dataFolder), 'utf8').catch(() => '{}');
  const { pid, endpoint = '' } = processRecord.safeParse(JSON.parse(text)).data ?? {};
  const deadline = Date.now() + leftoverTimeoutMs;
  while (sendSignal(pid, 0) && (await isDynamoDb(endpoint))) {
    if (Date.now() > deadline)
      throw new Error(
        `${dataFolder} is in use by ${label} of an earlier run (process ${pid}). End it with "kill ${pid}" and start again.`,
      );
    await sleep(pollMs);
  }
}

/** Signal 0 only checks the process. @returns whether the process exists */
function sendSignal(pid: number | undefined, signal: NodeJS.Signals | 0): boolean {
  try {
    return pid !== undefined && process.kill(pid, signal);
  } catch {
    return false;
  }
}
