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
import { withFullDisk } from './folders.ts';
import { writePrivateJson } from './private-file.ts';
import { findDrift, repairKeys } from '../../operators/keys/commands/repair.ts';
import type { Progress } from './progress.ts';
import { requestLog } from './request-log.ts';
import { watch } from './watch.ts';
import { checkFile, forKeysFile, parseOptions } from './options.ts';

/** @param onStop is called with what stops the service, again when there is more to stop */
export async function run(
  args: readonly string[],
  progress: Progress,
  onStop: (stop: () => Promise<void>) => void,
): Promise<void> {
  const options = parseOptions(args);
  try {
    await start(options, progress, onStop);
  } catch (error) {
    throw withFullDisk(error, options.data);
  }
}

async function start(
  options: ReturnType<typeof parseOptions>,
  progress: Progress,
  onStop: (stop: () => Promise<void>) => void,
): Promise<void> {
  const since = Date.now();
  const { tell } = progress;
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
  const pages = new Map<string, ReferenceFile>();
  const dataDirectory = data === undefined ? undefined : resolve(data);
  const service = await startLocalStack({
    ...requestLog({ quiet, json: jsonLogs }),
    port,
    pages,
    database,
    dataDirectory,
    inspect,
    onProgress: tell,
  });
  onStop(() => service.stop());

  const { endpoint, credentials, inspectorUrl, url } = service;
  const address = { endpoint, credentials };
  tell(`Seeding ${animals} animals and one key for each plan`);
  const { table } = await openPetService({ stage: localStage, ...address });
  const seeded = await seedAnimals(table, animals, Date.now(), dataDirectory);
  if (seeded === 0 && animals > 0) tell('The store already has animals: none added');
  else if (seeded !== animals)
    tell(`Added the ${grouped(seeded)} animals that an earlier run had begun with`);
  const keyService = await openKeyService({ stage: localStage, ...address });
  if (dataDirectory !== undefined) {
    const { drifted } = await findDrift(keyService, {});
    const repaired = await repairKeys(keyService, drifted);
    if (repaired.length > 0) tell(`Repaired ${repaired.length} API keys that API Gateway had lost`);
  }
  const keys = await seedKeys(keyService, dataDirectory);
  if (keysFile !== undefined) await forKeysFile(keysFile, writePrivateJson(keysFile, keys));
  for (const [path, page] of referenceFiles(url)) pages.set(path, page);

  if (reload) {
    tell('Watching functions/ and lib/');
    const stopWatching = await watch(service, {
      project: join(import.meta.dirname, '..', '..', '..'),
      since,
      synthesize: synthesizeLocal,
      onMessage: (message) => console.error(message),
    });
    onStop(async () => {
      await stopWatching();
      await service.stop();
    });
  }
  try {
    announceAddress(address, Date.now());
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    console.error(`npm run keys will not find the service, because its address cannot be saved: ${reason}`);
  }
  tell('Ready');
  progress.end();
  console.log(banner({ url, keys, reload, inspectorUrl }));
}
