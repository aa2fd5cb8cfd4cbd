import { watch } from 'node:fs';
import { join } from 'node:path';

/** Editors save a file in several steps. */
const quietMs = 30;

/**
 * Calls `onChange` with the absolute paths of files that changed in the folders, one call at a time.
 *
 * @returns stops watching, and waits for a call in progress
 */
export function watchFolders(
  folders: readonly string[],
  onChange: (files: readonly string[]) => Promise<void>,
): () => Promise<void> {
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
  const watchers = folders.map((folder) =>
    watch(folder, { recursive: true }, (_event, name) => {
      changed.add(name === null ? folder : join(folder, name));
      clearTimeout(timer);
      timer = setTimeout(run, quietMs);
    }),
  );
  return async () => {
    for (const watcher of watchers) watcher.close();
    clearTimeout(timer);
    changed.clear();
    await running;
  };
}
