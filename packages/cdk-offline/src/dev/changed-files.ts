import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { relative } from 'node:path';
import { watch } from 'chokidar';

/** Editors save a file in several steps. */
const quietMs = 30;

/** Folders that tools write, and that no one edits. */
const ignoredFolders = /[\\/](?:node_modules|\.git|cdk\.out)(?:[\\/]|$)/;

/**
 * Calls `onChange` with the absolute paths of files that changed in the folders, one call at a time.
 *
 * @param onError gets errors of the watcher, such as too many files for the system
 * @returns stops watching, and waits for a call in progress
 * @throws Error that names a path that is no folder
 */
export async function watchFolders(
  folders: readonly string[],
  onChange: (files: readonly string[]) => Promise<void>,
  onError: (error: unknown) => void,
): Promise<() => Promise<void>> {
  for (const folder of folders) {
    const found = await stat(folder).catch(() => undefined);
    if (found?.isDirectory() !== true) throw new Error(`${folder} cannot be watched: it is not a folder.`);
  }
  const changed = new Set<string>();
  let running: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  const applyAll = async (): Promise<void> => {
    while (changed.size > 0) {
      const files = [...changed];
      changed.clear();
      await onChange(files);
    }
  };
  const run = (): void => {
    running ??= applyAll().finally(() => {
      running = undefined;
    });
  };
  const watcher = watch([...folders], {
    ignoreInitial: true,
    atomic: false,
    ignored: (path) => folders.every((folder) => ignoredFolders.test(`/${relative(folder, path)}`)),
  });
  watcher.on('all', (_event, path) => {
    changed.add(path);
    clearTimeout(timer);
    timer = setTimeout(run, quietMs);
  });
  watcher.on('error', onError);
  await once(watcher, 'ready');
  return async () => {
    await watcher.close();
    clearTimeout(timer);
    changed.clear();
    await running;
  };
}
