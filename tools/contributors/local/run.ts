import { resolve } from 'node:path';
import { openKeyService } from '../../operators/keys/service.ts';
import { openPetService } from '../../operators/pets/service.ts';
import { localStage } from './stack.ts';
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
import { serve } from './serve.ts';
import { watch } from './watch.ts';
import { checkFile, forKeysFile, parseOptions } from './options.ts';

/** @param ending what stops the service is added to it */
export async function run(
  args: readonly string[],
  progress: Progress,
  ending: AsyncDisposableStack,
): Promise<void> {
  const options = parseOptions(args);
  await start(options, progress, ending).catch((error: unknown) => {
    throw withFullDisk(error, options.data);
  });
}

async function start(
  options: ReturnType<typeof parseOptions>,
  { tell, end }: Progress,
  ending: AsyncDisposableStack,
): Promise<void> {
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
  if (keysFile !== undefined) forKeysFile(keysFile, () => checkFile(resolve(keysFile)));
  const pages = new Map<string, ReferenceFile>();
  const dataDirectory = data === undefined ? undefined : resolve(data);
  const service = await serve({
    ...requestLog({ quiet, json: jsonLogs }),
    port,
    pages,
    database,
    dataDirectory,
    inspect,
    onProgress: tell,
  });
  ending.defer(() => service.stop());

  const { endpoint, credentials, functions, url } = service;
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
  if (keysFile !== undefined) forKeysFile(keysFile, () => writePrivateJson(keysFile, keys));
  for (const [path, page] of referenceFiles(url)) pages.set(path, page);

  if (reload) {
    tell('Watching functions/ and lib/');
    ending.defer(await watch(service, since));
  }
  try {
    announceAddress(address, Date.now());
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    console.error(`npm run keys will not find the service, because its address cannot be saved: ${reason}`);
  }
  tell('Ready');
  end();
  console.log(banner({ url, keys, reload, inspectorUrl: functions.inspectorUrl }));
}
