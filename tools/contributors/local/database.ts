import { fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { chooseDatabase, type DatabaseName, databaseNames, engines } from './database-engines.ts';
import { freePort } from './ports.ts';
import { writePrivate } from './private-file.ts';

/** Starts what serves the tables: Dynoxide, or Amazon's DynamoDB Local. */

/** How a database is called. */
export interface DatabaseAccess {
  /** `http://127.0.0.1:PORT`; stays the same when the database is restarted. */
  readonly endpoint: string;
  /**
   * DynamoDB Local keeps the tables of each access key apart and verifies no signature, so the access key ID is the secret.
   * Dynoxide looks at no access key.
   *
   * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/DynamoDBLocal.UsageNotes.html
   */
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string };
}

interface Database extends DatabaseAccess {
  /** Resolves when the process of the database has ended. May be called more than once. */
  stop(): Promise<void>;
}

export interface DatabaseOptions {
  /** When absent Dynoxide, or DynamoDB Local where Dynoxide is not installed. */
  readonly database?: DatabaseName | undefined;
  /** Keeps tables between runs. In memory when absent. */
  readonly dataFolder?: string | undefined;
  /** Of the caller. It is removed when the caller has ended, also when it was killed. */
  readonly temporaryFolder?: string | undefined;
  /** Called with one line when the database ended unexpectedly and is restarted. */
  readonly onProgress?: ((message: string) => void) | undefined;
  /** Called at most once, when the database ended unexpectedly and its data is lost or it cannot be restarted. */
  readonly onLost?: ((error: Error) => void) | undefined;
}

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
  const { dataFolder, temporaryFolder, onProgress = () => {}, onLost = () => {} } = options;
  const database = await chooseDatabase(options.database);
  const { label } = engines[database];
  if (dataFolder !== undefined) prepareFolder(database, dataFolder);
  const accessKeyId = database === 'dynoxide' ? 'local' : accessKeyIdOf(dataFolder);
  const port = await freePort();
  const start = () => startKeeper(label, { port, database, dataFolder, temporaryFolder });
  let running = start();
  await running;

  let isStopped = false;
  const watch = async (): Promise<void> => {
    const reason = await (await running).ended;
    if (isStopped) return;
    if (dataFolder === undefined) {
      onLost(new Error(`${label} ended (${reason}). Its data was in memory and is lost.`));
      return;
    }
    onProgress(`${label} ended (${reason}). Restarting it with the same data.`);
    running = start();
    await running.then(watch, (error: unknown) =>
      onLost(new Error(`${label} ended and cannot be restarted: ${String(error)}`, { cause: error })),
    );
  };
  void watch();
  return {
    endpoint: `http://127.0.0.1:${port}`,
    credentials: { accessKeyId, secretAccessKey: 'local' },
    stop: async () => {
      isStopped = true;
      await running.then(
        (keeper) => keeper.stop(),
        () => {}, // it has not started again
      );
    },
  };
}

/** @throws Error when the folder has tables of the other database */
function prepareFolder(database: DatabaseName, dataFolder: string): void {
  mkdirSync(dataFolder, { recursive: true, mode: 0o700 });
  for (const other of databaseNames) {
    if (other === database || !existsSync(join(dataFolder, engines[other].file))) continue;
    throw new Error(
      `${dataFolder} has tables of ${engines[other].label}, which ${engines[database].label} cannot read. Choose their database (--database ${other}), or another directory.`,
    );
  }
}

/** The access key ID of a data folder: the one of the first run. @throws Error when the file is damaged */
function accessKeyIdOf(dataFolder: string | undefined): string {
  const random = randomBytes(16).toString('hex');
  if (dataFolder === undefined) return random;
  const path = join(dataFolder, engines['dynamodb-local'].file);
  if (!existsSync(path)) writePrivate(path, random);
  const kept = readFileSync(path, 'utf8');
  if (/^[a-z\d]+$/i.test(kept)) return kept;
  throw new Error(`${path} is damaged. Move it to another folder and start again.`);
}

/** What database-keeper.ts, the process between the service and the database, is told. */
export type KeeperOptions = Pick<DatabaseOptions, 'dataFolder' | 'temporaryFolder'> & {
  readonly database: DatabaseName;
  readonly port: number;
};

/** What it tells: the database answers, it has ended, or it cannot be started. */
export type FromKeeper = { readonly pid: number } | { readonly ended: string } | { readonly problem: string };

interface Keeper {
  /** Resolves with the reason when the database has ended. */
  readonly ended: Promise<string>;
  readonly stop: () => Promise<void>;
}

async function startKeeper(label: string, options: KeeperOptions): Promise<Keeper> {
  const keeper = fork(new URL('database-keeper.ts', import.meta.url), [JSON.stringify(options)], {
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    detached: true, // outside the process group that gets Ctrl-C: it ends after the service
  });
  const exited = once(keeper, 'exit');
  const { promise: started, resolve: start, reject: fail } = Promise.withResolvers<number>();
  const { promise: ended, resolve: end } = Promise.withResolvers<string>();
  keeper.on('message', (message: FromKeeper) => {
    if ('pid' in message) start(message.pid);
    else if ('ended' in message) end(message.ended);
    else fail(new Error(message.problem));
  });
  keeper.on('exit', (code, signal) => end(`its parent process: ${signal ?? `exit code ${code}`}`));
  void ended.then((reason) => fail(new Error(`${label} ended while it started (${reason}).`)));
  const pid = await started;
  keeper.on('exit', (_, signal) => {
    // A keeper that was killed has not ended its database.
    if (signal !== null) kill(pid);
  });
  const stop = async (): Promise<void> => {
    if (keeper.connected) keeper.disconnect();
    await exited;
  };
  return { ended, stop };
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has already ended.
  }
}
