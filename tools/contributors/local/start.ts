import { join, resolve } from 'node:path';
import { openKeyService } from '../../operators/keys/service.ts';
import { openPetService } from '../../operators/pets/service.ts';
import { localStage, startLocalStack, synthesizeLocal } from './stack.ts';
import { type ReferenceFile, referenceFiles } from '../reference/files.ts';
import { seedAnimals } from './seed.ts';
import { announceAddress } from '../../operators/command-line/local-address.ts';
import { grouped } from '../../operators/command-line/output.ts';
import { banner } from './banner.ts';
import { seedKeys } from './keys.ts';
import { writePrivateJson } from './private-file.ts';
import { findDrift, repairKeys } from '../../operators/keys/commands/repair.ts';
import { endWith } from './lifetime.ts';
import { clock, requestLog } from './request-log.ts';
import { watch } from './watch.ts';
import { checkFile, forKeysFile, type LocalOptions, parseOptions } from './options.ts';

/** `npm start` and `npm run dev`: the service on this machine, with sample animals and a key for each plan. */

let stop = async (): Promise<void> => {};
let isStopping = false;
endWith(async () => {
  isStopping = true;
  console.log('\nStopping');
  await stop();
});
try {
  await start(parseOptions(process.argv.slice(2)));
} catch (error) {
  // What was under way fails when the service stops.
  if (!isStopping) {
    console.error(`\n${error instanceof Error ? error.message : String(error)}`);
    process.exit(1);
  }
}

async function start(options: LocalOptions): Promise<void> {
  const since = Date.now();
  const {
    port,
    animals,
    database,
    data,
    keysFile,
    quiet = false,
    jsonLogs = false,
    inspect,
    reload,
  } = options;
  if (keysFile !== undefined) await forKeysFile(keysFile, checkFile(resolve(keysFile)));
  const progress = (message: string): void => {
    // The same time as that of a request.
    if (!quiet) console.log(`${clock()} ${message}`);
  };
  const pages = new Map<string, ReferenceFile>();
  const dataDirectory = data === undefined ? undefined : resolve(data);
  const service = await startLocalStack({
    ...requestLog({ quiet, json: jsonLogs }),
    port,
    pages,
    database,
    dataDirectory,
    inspect,
    onProgress: progress,
  });
  stop = () => service.stop();

  const { endpoint, credentials, inspectorUrl, url } = service;
  const address = { endpoint, credentials };
  progress(`Seeding ${animals} animals and one key for each plan`);
  const { table } = await openPetService({ stage: localStage, ...address });
  const seeded = await seedAnimals(table, animals, Date.now(), dataDirectory);
  if (seeded === 0 && animals > 0) progress('The store already has animals: none added');
  else if (seeded !== animals)
    progress(`Added the ${grouped(seeded)} animals that an earlier run had begun with`);
  const keyService = await openKeyService({ stage: localStage, ...address });
  if (dataDirectory !== undefined) {
    const { drifted } = await findDrift(keyService, {});
    const repaired = await repairKeys(keyService, drifted);
    if (repaired.length > 0) progress(`Repaired ${repaired.length} API keys that API Gateway had lost`);
  }
  const keys = await seedKeys(keyService, dataDirectory);
  if (keysFile !== undefined) await forKeysFile(keysFile, writePrivateJson(keysFile, keys));
  for (const [path, page] of referenceFiles(url)) pages.set(path, page);

  if (reload) {
    progress('Watching functions/ and lib/');
    const stopWatching = await watch(service, {
      project: join(import.meta.dirname, '..', '..', '..'),
      since,
      synthesize: synthesizeLocal,
      onMessage: (message) => console.error(message),
    });
    stop = async () => {
      await stopWatching();
      await service.stop();
    };
  }
  try {
    announceAddress(address, Date.now());
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    console.error(`npm run keys will not find the service, because its address cannot be saved: ${reason}`);
  }
  progress('Ready');
  console.log(banner({ url, keys, reload, inspectorUrl }));
}
