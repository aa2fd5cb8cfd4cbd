import * as z from 'zod';
import { chooseDatabase, databaseNames } from '../../tools/contributors/local/database-engines.ts';

const given = z
  .enum([...databaseNames, 'all'])
  .optional()
  .parse(process.env['DATABASE']);

/** `DATABASE=dynamodb-local` runs tests on it that otherwise run on Dynoxide. */
export const databaseOfTests = given === 'all' ? undefined : given;

/**
 * Why the tests of tables run on one database only, if they do.
 *
 * @throws Error with `DATABASE=all` when one is not installed
 */
export async function whyOneDatabase(): Promise<string | undefined> {
  if (databaseOfTests !== undefined) return `All tests run on ${databaseOfTests}.`;
  for (const name of databaseNames) {
    try {
      await chooseDatabase(name);
    } catch (error) {
      if (given === 'all') throw error;
      return `The tests of tables do not run on ${name}. ${(error as Error).message}`;
    }
  }
  return undefined;
}
