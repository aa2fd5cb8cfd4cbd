import { execFile } from 'node:child_process';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { NotInstalled } from './not-installed.ts';

export const oldestJava = 17;
const answerTimeoutMs = 20_000;

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Environment variables for Java: `JAVA_HOME` takes precedence over `PATH`. On Linux the locale is UTF-8, because Java
 * otherwise cannot open files whose path is not ASCII.
 */
export function javaEnvironment(
  env: Environment = process.env,
  platform: string = process.platform,
): Record<string, string | undefined> {
  const localized = platform === 'linux' ? { ...env, LC_ALL: 'C.UTF-8' } : env;
  const home = env['JAVA_HOME'];
  if (home === undefined || home === '') return localized;
  const name = Object.keys(env).find((key) => key.toUpperCase() === 'PATH') ?? 'PATH';
  return { ...localized, [name]: [join(home, 'bin'), env[name] ?? ''].join(delimiter) };
}

/** @throws NotInstalled when Java is missing or too old */
export async function requireJava(env: Environment = process.env): Promise<void> {
  const advice = `install Java ${oldestJava} or later for DynamoDB Local (for instance from https://adoptium.net), or set JAVA_HOME`;
  let output: string;
  try {
    const { stdout, stderr } = await promisify(execFile)('java', ['-version'], {
      env: javaEnvironment(env),
      timeout: answerTimeoutMs,
    });
    output = stdout + stderr;
  } catch (error) {
    const isSlow = error instanceof Error && 'killed' in error && error.killed === true;
    const problem = isSlow
      ? `"java -version" did not end within ${answerTimeoutMs / 1000} s.`
      : 'Java was not found.';
    throw new NotInstalled(problem, advice, error);
  }
  const version = javaVersion(output);
  if (version !== undefined && version < oldestJava) {
    throw new NotInstalled(`Java ${version} is too old.`, advice, undefined);
  }
}

/** The feature release in the output of `java -version`: 17 for `"17.0.15"`, 8 for `"1.8.0_412"`. */
export function javaVersion(output: string): number | undefined {
  const match = /version "(?:1\.)?(\d+)/.exec(output);
  return match?.[1] === undefined ? undefined : Number(match[1]);
}
