import type { TestProject } from 'vitest/node';
import { openKeyService, createKey } from '../../tools/keys/operations.ts';
import { localStage, startLocalStack } from '../../tools/local-stack.ts';
import { localDynamoDb, seedAnimals } from '../../tools/seed.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The service under test: any base URL, and a key that may send some hundred requests a minute. */
    e2e: { readonly url: string; readonly key: string };
    /** What only the service on this machine offers; `undefined` when the suite aims elsewhere. */
    local: { readonly endpoint: string; readonly outputs: Readonly<Record<string, string>> } | undefined;
  }
}

/** Animals in the store before the first test. */
const animals = 25;

/**
 * The whole service on this machine, or, with E2E_URL and E2E_KEY, one that runs anywhere: then only the tests
 * that need nothing but HTTP run.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { E2E_URL: url, E2E_KEY: key } = process.env;
  if (url !== undefined && key !== undefined) {
    project.provide('e2e', { url, key });
    project.provide('local', undefined);
    return async () => {};
  }
  const service = await startLocalStack({ port: 0 });
  try {
    const { endpoint, outputs } = service;
    const table = { client: localDynamoDb(service.dynamodbEndpoint), tableName: outputs['PetsTableName']! };
    await seedAnimals(table, animals, Date.now());
    const keys = await openKeyService({ stage: localStage, endpoint });
    const business = await createKey(keys, { owner: 'e2e', plan: 'business' });
    project.provide('e2e', { url: service.url, key: business.key });
    project.provide('local', { endpoint, outputs });
    return () => service.stop();
  } catch (error) {
    await service.stop();
    throw error;
  }
}
