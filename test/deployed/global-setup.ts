import type { ProvidedContext } from 'vitest';
import type { TestProject } from 'vitest/node';
import { chooseDatabase, type DatabaseName } from '../../tools/contributors/local/database-engines.ts';
import { startDatabase } from '../../tools/contributors/local/database.ts';
import { databaseOfTests } from '../support/database.ts';

declare module 'vitest' {
  interface ProvidedContext {
    dynamodbEndpoint: string;
    /** The database behind `dynamodbEndpoint`. */
    database: DatabaseName;
    /** A second database that has to answer what the tables in memory answer (replay.ts). */
    secondDatabase: DatabaseName | undefined;
    secondEndpoint: string | undefined;
    /** Why the tests of tables do not run on DynamoDB Local, too. */
    whyOneDatabase: string | undefined;
  }
}

/** One database for all tests of a project; each makes tables of its own in it. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const given: Partial<ProvidedContext> = project.getProvidedContext();
  const { database = await chooseDatabase(databaseOfTests), secondDatabase, whyOneDatabase } = given;
  if (whyOneDatabase !== undefined) console.log(whyOneDatabase);
  const dynamodb = await startDatabase({ database });
  project.provide('database', database);
  project.provide('dynamodbEndpoint', dynamodb.endpoint);
  const second = secondDatabase && (await startDatabase({ database: secondDatabase }));
  project.provide('secondEndpoint', second?.endpoint);
  return async () => void (await Promise.all([dynamodb.stop(), second?.stop()]));
}
