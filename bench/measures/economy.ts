import { putPets } from '../../tools/bulk.ts';
import type { FunctionEntry } from '../../lib/compute/entries.ts';
import { sampleAnimals } from '../../tools/seed.ts';
import { DynamoDbMeter } from '../harness/dynamodb-meter.ts';
import { events, stackVariables, type tableNames } from '../harness/fixtures.ts';
import { FunctionProcess } from '../harness/function-process.ts';
import { clientOf, createTables } from '../harness/tables.ts';

export interface EconomyResult {
  readonly operation: string;
  /** Such as `Query Pets 1`: operation, table and capacity units of each call. */
  readonly calls: readonly string[];
  readonly readUnits: number;
  readonly writeUnits: number;
}

const writes = new Set(['PutItem', 'UpdateItem']);

/** The calls to DynamoDB of one request, once its windows are open, and the capacity they consume. */
export async function measureEconomy(endpoint: string): Promise<EconomyResult[]> {
  const client = clientOf(endpoint);
  const tables = await createTables(client);
  const animals = sampleAnimals(1_000, Date.now());
  await putPets({ client, tableName: tables.pets }, animals);

  const operations: readonly (readonly [string, FunctionEntry, () => unknown])[] = [
    ['list, 20 of one status', 'list-pets', () => events.list()],
    [
      'list, 100 of one status',
      'list-pets',
      () =>
        events.list([
          ['status', 'available'],
          ['limit', '100'],
        ]),
    ],
    ['list, 20 of all', 'list-pets', () => events.list([])],
    ['create', 'create-pet', events.create],
    ['get', 'get-pet', () => events.get(String(animals[0]!.id))],
    ['no such route', 'unmatched-route', events.unmatched],
    ['authorize (once a minute and key)', 'authorizer', events.authorize],
  ];

  const meter = await DynamoDbMeter.start(endpoint);
  const environment = { ...stackVariables(tables), AWS_ENDPOINT_URL_DYNAMODB: meter.endpoint };
  const results: EconomyResult[] = [];
  try {
    for (const [operation, entry, event] of operations) {
      const process = await FunctionProcess.start(entry, environment);
      try {
        await withinOneMinute(() => process.invoke(event()));
        meter.read();
        await process.invoke(event());
      } finally {
        await process.stop();
      }
      results.push(summarise(operation, meter.read(), tables));
    }
  } finally {
    meter.stop();
  }
  return results;
}

/** Late in a minute the next request would find another window. */
async function withinOneMinute(first: () => Promise<unknown>): Promise<void> {
  const left = 60_000 - (Date.now() % 60_000);
  if (left < 5_000) await new Promise((done) => setTimeout(done, left));
  await first();
}

function summarise(
  operation: string,
  calls: ReturnType<DynamoDbMeter['read']>,
  tables: typeof tableNames,
): EconomyResult {
  const nameOf = (table: string): string =>
    Object.entries(tables).find(([, tableName]) => tableName === table)?.[0] ?? table;
  const units = (wanted: boolean): number =>
    calls.filter((call) => writes.has(call.operation) === wanted).reduce((sum, call) => sum + call.units, 0);
  return {
    operation,
    calls: calls.map((call) => `${call.operation} ${nameOf(call.table)} ${call.units}`).toSorted(),
    readUnits: units(false),
    writeUnits: units(true),
  };
}
