import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { type Keys, parseKeys } from '../../../tools/contributors/local/keys.ts';
import { createKey } from '../../../tools/operators/keys/commands/create.ts';
import { openKeyService } from '../../../tools/operators/keys/service.ts';
import { openPetService } from '../../../tools/operators/pets/service.ts';
import { announceAddress, type LocalAddress } from '../../../tools/operators/command-line/local-address.ts';
import { serve } from '../../../tools/contributors/local/serve.ts';
import { localStage, synthesizeLocal } from '../../../tools/contributors/local/stack.ts';
import { seedAnimals } from '../../../tools/contributors/local/seed.ts';
import { databaseOfTests } from '../../support/database.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /**
     * The service under test: its base URL, a key that may send some hundred requests a minute, and a key of each plan
     * where the service is not on this machine.
     */
    service: { readonly url: string; readonly key: string; readonly keys: Keys | undefined };
    /**
     * What only the service on this machine offers; `undefined` when the suite tests another. `/log` at the endpoint has
     * what the functions have logged. `assembly` is what it serves, for other services.
     */
    local:
      | (LocalAddress & { readonly outputs: Readonly<Record<string, string>>; readonly assembly: string })
      | undefined;
  }
}

/** Animals in the store before the first test. */
const animals = 25;

/**
 * The whole service on this machine, or the one at SERVICE_URL with the keys in the file SERVICE_KEYS, which has the format of
 * `npm start -- --keys-file`. Then only the tests that need nothing but HTTP run.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { SERVICE_URL: url, SERVICE_KEYS: keysFile } = process.env;
  if (url !== undefined) {
    if (keysFile === undefined) throw new Error('SERVICE_KEYS must name a file with a key of each plan.');
    const keys = parseKeys(keysFile, await readFile(keysFile, 'utf8'));
    project.provide('service', { url: url.replace(/\/+$/, ''), key: keys.business, keys });
    project.provide('local', undefined);
    return async () => {};
  }
  const log: [label: string, line: string][] = [];
  const logPage = {
    type: 'application/json',
    get body() {
      return JSON.stringify(log);
    },
  };
  const assembly = await mkdtemp(join(tmpdir(), 'service-'));
  await synthesizeLocal(assembly);
  const service = await serve({
    port: 0,
    database: databaseOfTests,
    assembly,
    onLog: (...entry) => void log.push(entry),
    pages: new Map([['/log', logPage]]),
  });
  const stop = async () => {
    await service.stop();
    await rm(assembly, { recursive: true });
  };
  try {
    const { endpoint, credentials, outputs } = service;
    const address = { endpoint, credentials };
    // Tools with --port find this service. Others find one that the contributor has started.
    announceAddress(address, 0);
    const { table } = await openPetService({ stage: localStage, ...address });
    await seedAnimals(table, animals, Date.now());
    const keys = await openKeyService({ stage: localStage, ...address });
    const business = await createKey(keys, { owner: 'tests', plan: 'business' });
    project.provide('service', { url: service.url, key: business.key, keys: undefined });
    project.provide('local', { ...address, outputs, assembly });
    project.provide('dynamodbEndpoint', service.dynamodbEndpoint);
    return stop;
  } catch (error) {
    await stop();
    throw error;
  }
}
