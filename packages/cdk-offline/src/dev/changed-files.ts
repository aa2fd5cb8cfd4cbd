import { watch } from 'node:fs';
import { join } from 'node:path';

/** Editors save a file in several steps. */
const quietMs = 30;

/**
 * Calls `onChange` with the absolute paths of files that changed in the folders, one call at a time.
 *
 * @returns stops watching
 */
export function watchFolders(
  folders: readonly string[],
  onChange: (files: readonly string[]) => Promise<void>,
): () => void {
  const changed = new Set<string>();
  let running = false;
  let timer: NodeJS.Timeout | undefined;
  const run = async (): Promise<void> => {
    if (running) return;
    running = true;
    while (changed.size > 0) {
      const files = [...changed];
      changed.clear();
      await onChange(files);
    }
    running = false;
  };
  const watchers = folders.map((folder) =>
    watch(folder, { recursive: true }, (_event, name) => {
      changed.add(name === null ? folder : join(folder, name));
      clearTimeout(timer);
      timer = setTimeout(() => void run(), quietMs);
    }),
  );
  return () => {
    clearTimeout(timer);
    for (const watcher of watchers) watcher.close();
  };
}
