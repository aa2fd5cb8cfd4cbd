import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { accessKeyIdFile } from './credentials.ts';
import { requireDynamoDbLocal } from './dynamodb-local.ts';
import { dynoxideFile, findDynoxide } from './dynoxide.ts';
import { NotInstalled } from './not-installed.ts';

/** The databases that tables can be served by, the one that is preferred first. */
export const databaseNames = ['dynoxide', 'dynamodb-local'] as const;
export type DatabaseName = (typeof databaseNames)[number];

interface Engine {
  readonly label: string;
  /** Rejects with an error that says what to do. */
  readonly require: () => Promise<unknown>;
  /** A file that only this engine has in a data directory. */
  readonly file: string;
}

export const engines: Readonly<Record<DatabaseName, Engine>> = {
  dynoxide: { label: 'Dynoxide', require: async () => findDynoxide(), file: dynoxideFile },
  'dynamodb-local': { label: 'DynamoDB Local', require: requireDynamoDbLocal, file: accessKeyIdFile },
};

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
  const advices: string[] = [];
  for (const name of databaseNames) {
    try {
      return await chooseDatabase(name);
    } catch (error) {
      if (!(error instanceof NotInstalled)) throw error;
      if (error.advice !== undefined) advices.push(error.advice);
    }
  }
  throw new Error(`The tables need a database: ${advices.join(', or ')}.`);
}

/** @throws Error when the directory has tables of another database */
export async function requireOwnDirectory(name: DatabaseName, dataDirectory: string): Promise<void> {
  for (const other of databaseNames) {
    if (other === name || !(await exists(join(dataDirectory, engines[other].file)))) continue;
    throw new Error(
      `${dataDirectory} has tables of ${engines[other].label}, which ${engines[name].label} cannot read. ` +
        `Choose their database (--database ${other}), or another directory.`,
    );
  }
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
