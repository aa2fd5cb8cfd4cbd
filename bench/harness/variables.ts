import { join } from 'node:path';
import { variablesOf } from '../../lib/compute/functions.ts';
import { titleCase } from '../../lib/title-case.ts';
import { type FunctionEntry, functionEntries } from '../../functions/operations.ts';

/** The tables of variants/parts. */
export const partsTables = { PARTS_LIMITS_TABLE: 'PartsLimits', PARTS_IDEMPOTENCY_TABLE: 'PartsIdempotency' };

/** The environment variables that the stack sets for these functions, and those of the peers. */
export function variables(
  entries: readonly FunctionEntry[] = functionEntries,
): Readonly<Record<string, string>> {
  const ofStack = entries.map((entry) => variablesOf(entry, 'prod', 'Bench', titleCase));
  return {
    ...Object.assign({}, ...ofStack),
    ...partsTables,
    // Bundles without the SDK find it here, as they do on Lambda.
    NODE_PATH: join(import.meta.dirname, '..', '..', 'node_modules'),
  };
}
