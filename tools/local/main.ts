import { join, resolve } from 'node:path';
import { endWith, type OfflineService, terminalLog, watch } from 'cdk-offline';
import { buildFunctions } from 'cdk-offline/esbuild';
import { z } from 'zod';
import { bundleOptions } from '../../lib/bundler/bundle.ts';
import { openKeyService } from '../keys/service.ts';
import { localStage, startLocalStack, synthesizeLocal } from './stack.ts';
import { type ReferencePage, referencePages } from '../reference/pages.ts';
import { localDynamoDb, seedAnimals } from '../seed.ts';
import { announceAddress, reasonNotToAnnounce } from '../command-line/local-address.ts';
import { banner } from './banner.ts';
import { enterpriseLimits, seedKeys, writePrivateJson } from './keys.ts';
import { withoutKeyHash } from './request-log.ts';
import { checkFile, forKeysFile, type LocalOptions, parseOptions } from './options.ts';

/** `npm start` and `npm run dev`: the service on this machine, with sample animals and a key for each plan. */

let stop = async (): Promise<void> => {};
endWith(async () => {
  console.log('\nStopping');
  await stop();
});
try {
  await start(parseOptions(process.argv.slice(2)));
} catch (error) {
  console.error(`\n${error instanceof Error ? error.message : String(error)}`);
  process.exit(1);
}

async function start(options: LocalOptions): Promise<void> {
  const since = Date.now();
  const { port, animals, data, keysFile, quiet = false, jsonLogs: json = false, inspect, reload } = options;
  if (keysFile !== undefined) await forKeysFile(keysFile, checkFile(resolve(keysFile)));
  const unannounced = reasonNotToAnnounce();
  if (unannounced !== undefined) {
    console.error(
      `npm run keys will not find the service, because its address cannot be saved: ${unannounced}`,
    );
  }
  const progress = (message: string): void => {
    // The same time as that of a request.
    if (!quiet) console.log(`${new Date().toTimeString().slice(0, 8)} ${message}`);
  };
  const pages = new Map<string, ReferencePage>();
  const dataDirectory = data === undefined ? undefined : resolve(data);
  const log = terminalLog({ quiet, json, caller: planAndKeyId, isRepetition: isRequestRecord });
  const service = await startLocalStack({
    ...log,
    onRequest: (record) => log.onRequest(withoutKeyHash(record)),
    port,
    pages,
    dataDirectory,
    inspect,
    onProgress: progress,
  });
  stop = () => service.stop();

  const { endpoint, credentials, inspectorUrl, url } = service;
  const address = { endpoint, credentials };
  const tableName = service.outputs['PetsTableName'];
  if (tableName === undefined) throw new Error('The stack has no output PetsTableName');
  progress(`Seeding ${animals} animals and one key for each plan`);
  const seeded = await seedAnimals({ client: localDynamoDb(address), tableName }, animals, Date.now());
  if (seeded === 0 && animals > 0) progress('The store already has animals: none added');
  const keys = await seedKeys(await openKeyService({ stage: localStage, ...address }), dataDirectory);
  if (keysFile !== undefined) await forKeysFile(keysFile, writePrivateJson(keysFile, keys));
  for (const [path, page] of await referencePages({ url })) pages.set(path, page);

  if (reload) {
    progress('Watching functions/ and lib/');
    const stopWatching = await applyChanges(service, since);
    stop = async () => {
      await stopWatching();
      await service.stop();
    };
  }
  if (unannounced === undefined) announceAddress(address, Date.now());
  progress('Ready');
  console.log(banner({ url, keys, enterpriseLimits, reload, inspectorUrl }));
}

function applyChanges(service: OfflineService, since: number): Promise<() => Promise<void>> {
  const project = join(import.meta.dirname, '..', '..');
  return watch(service, {
    folders: ['bin', 'lib', 'functions'].map((name) => join(project, name)),
    since,
    synthesize: synthesizeLocal,
    functions: buildFunctions({
      folder: join(project, 'functions'),
      app: join(project, 'bin', 'animal-store.ts'),
      bundle: ({ handler }, outputDirectory) =>
        bundleOptions(`functions/${handler.replace('.handler', '.ts')}`, outputDirectory, {
          development: true,
        }),
    }),
    onMessage: (message) => console.error(message),
  });
}

const identity = z.object({ plan: z.string().default(''), principalId: z.string().default('') });

function planAndKeyId(authorizer: object): string {
  const { plan, principalId } = identity.parse(authorizer);
  return `${plan} ${principalId}`.trim();
}

/** The record of a request or of an authorization. */
function isRequestRecord({ operation, message }: Readonly<Record<string, unknown>>): boolean {
  return (
    operation !== undefined || (typeof message === 'object' && message !== null && 'operation' in message)
  );
}
