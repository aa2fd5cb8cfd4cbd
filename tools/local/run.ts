import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { openKeyService } from '../keys/service.ts';
import { type ReferencePage, referencePages } from '../reference/pages.ts';
import { localStage, startLocalStack } from '../local-stack.ts';
import { localDynamoDb, seedAnimals } from '../seed.ts';
import { announceAddress } from './address-file.ts';
import { banner } from './banner.ts';
import { enterpriseLimits, seedKeys, writePrivateJson } from './keys.ts';
import { endWith } from './lifetime.ts';
import { functionLine, requestLine } from './log.ts';
import { checkPaths, forOption, type LocalOptions } from './options.ts';
import { Reloader } from './reload.ts';

/**
 * Runs the service until a signal ends the process. Exits with 1 and a message when it cannot start.
 *
 * @param reload applies changes of the project when a file is saved
 */
export async function runLocal(
  options: LocalOptions,
  { reload }: { readonly reload: boolean },
): Promise<void> {
  keepTemporaryFilesTogether();
  const starting = new AbortController();
  const started = start(options, reload, starting.signal);
  endWith(async () => {
    console.log('\nStopping');
    starting.abort();
    const service = await started.catch(() => undefined);
    await service?.stop();
  });
  try {
    await started;
  } catch (error) {
    if (starting.signal.aborted) return;
    console.error(`\n${error instanceof Error ? error.message : String(error)}`);
    process.exit(1);
  }
}

interface Stoppable {
  stop(): Promise<void>;
}

async function start(options: LocalOptions, reload: boolean, signal: AbortSignal): Promise<Stoppable> {
  const { port, animals, keysFile, quiet, jsonLogs, inspect } = options;
  const inColour = process.stderr.hasColors?.() ?? false;
  await checkPaths(options);
  const data = options.data === undefined ? undefined : resolve(options.data);
  const startedAt = performance.now();
  const progress = (message: string): void => {
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    if (!quiet) console.log(`${seconds.padStart(5)} s  ${message}`);
  };
  const pages = new Map<string, ReferencePage>();
  const service = await startLocalStack({
    port,
    pages,
    dataDirectory: data,
    signal,
    inspect,
    onProgress: progress,
    onLog: (functionId, line) => {
      const text = jsonLogs ? line : functionLine(functionId, line, quiet);
      if (text !== undefined) console.error(text);
    },
    onRequest: (record) => {
      if (jsonLogs) console.error(JSON.stringify(record));
      else if (!quiet) console.error(requestLine(record, inColour));
    },
  });
  try {
    const tableName = service.outputs['PetsTableName'];
    if (tableName === undefined) throw new Error('The stack has no output PetsTableName');
    const table = { client: localDynamoDb(service.dynamodbEndpoint), tableName };
    progress(`Seeding ${animals} animals and one key for each plan`);
    const seeded = await seedAnimals(table, animals, Date.now());
    if (seeded === 0 && animals > 0) progress('The store already has animals: none added');
    const keys = await seedKeys(
      await openKeyService({ stage: localStage, endpoint: service.endpoint }),
      data,
    );
    if (keysFile !== undefined) await forOption('--keys-file', keysFile, writePrivateJson(keysFile, keys));
    const { pathname: basePath } = new URL(service.url);
    for (const [path, page] of await referencePages({ basePath, key: keys.pro })) pages.set(path, page);
    if (reload) progress('Watching functions/ and lib/');
    const reloader = reload
      ? await Reloader.start(service.service, { onMessage: (message) => console.error(message), inColour })
      : undefined;
    announceAddress(service.endpoint);
    progress('Ready');
    const { inspectorUrl } = service.service;
    console.log(banner({ url: service.url, keys, enterpriseLimits, reload, inspectorUrl }));
    return {
      stop: async () => {
        await reloader?.stop();
        await service.stop();
      },
    };
  } catch (error) {
    await service.stop();
    throw error;
  }
}

/** In one folder, which is removed when this process exits. */
function keepTemporaryFilesTogether(): void {
  const folder = mkdtempSync(join(tmpdir(), 'animal-store-'));
  for (const name of ['TMPDIR', 'TEMP', 'TMP']) process.env[name] = folder;
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
}
