import { createHash } from 'node:crypto';
import { fstatSync, type Stats } from 'node:fs';
import { once } from 'node:events';
import { readFile, stat } from 'node:fs/promises';
import { relative } from 'node:path';
// `fs.watch` misses a file after its first save by rename on Linux, and blocks the process while thousands of files appear.
import { watch } from 'chokidar';

/** Editors save a file in several steps. */
const quietMs = 30;

/** Folders that tools write, and that no one edits. */
export const alwaysIgnored = /[\\/](?:node_modules|\.git|cdk\.out)(?:[\\/]|$)/;

const outputs = [1, 2].map((descriptor) => fstatSync(descriptor)).filter((output) => output.isFile());

/** Whether the output of this process is written to the file: each line would be a change. */
export function isOwnOutput({ dev, ino }: Stats): boolean {
  return outputs.some((output) => output.dev === dev && output.ino === ino);
}

export interface ChangedFilesOptions {
  readonly isIgnored: (path: string, isFile: boolean) => boolean;
  /** In milliseconds since the Unix epoch: files saved later have changed. */
  readonly since: number;
  /** Whether a file that is saved with the same content has changed, because it was not applied before. */
  readonly isRepeated: () => boolean;
}

/**
 * Calls `onChange` with the absolute paths of files that changed in the folders, one call at a time. A file that was
 * written with the content of the call before, for instance by a compiler that the app runs, did not change.
 *
 * @param onError gets errors of the watcher, such as too many files for the system
 * @returns stops watching, and waits for a call in progress
 * @throws Error that names a path that is no folder
 */
export async function watchFolders(
  folders: readonly string[],
  { isIgnored, since, isRepeated }: ChangedFilesOptions,
  onChange: (files: readonly string[]) => Promise<void>,
  onError: (error: unknown) => void,
): Promise<() => Promise<void>> {
  for (const folder of folders) {
    const found = await stat(folder).catch(() => undefined);
    if (found?.isDirectory() !== true) throw new Error(`${folder} cannot be watched: it is not a folder.`);
  }
  const changed = new Set<string>();
  /** Files that are new: an editor's temporary file is gone when it has been renamed. */
  const created = new Set<string>();
  const contents = new Map<string, string>();
  const differs = async (file: string): Promise<boolean> => {
    const content = await digestOf(file);
    if (contents.get(file) === content && !isRepeated()) return false;
    contents.set(file, content);
    return true;
  };
  let running: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  const applyAll = async (): Promise<void> => {
    while (changed.size > 0) {
      const files = [...changed];
      changed.clear();
      created.clear();
      const isChanged = await Promise.all(files.map((file) => differs(file)));
      const different = files.filter((_, index) => isChanged[index]);
      if (different.length > 0) await onChange(different);
    }
  };
  const run = (): void => {
    running ??= applyAll().finally(() => {
      running = undefined;
    });
  };
  const watcher = watch([...folders], {
    alwaysStat: true,
    atomic: false,
    ignored: (path, stats) =>
      folders.every((folder) => alwaysIgnored.test(`/${relative(folder, path)}`)) ||
      isIgnored(path, stats?.isFile() === true) ||
      (stats !== undefined && isOwnOutput(stats)),
  });
  let isReady = false;
  watcher.on('all', (event, path, stats) => {
    // At first every file is added.
    if (!isReady && (event !== 'add' || stats === undefined || stats.mtimeMs <= since)) return;
    changed.add(path);
    if (event === 'add') created.add(path);
    if (event === 'unlink' && created.delete(path)) changed.delete(path);
    clearTimeout(timer);
    timer = setTimeout(run, quietMs);
  });
  watcher.on('error', onError);
  await once(watcher, 'ready');
  isReady = true;
  return async () => {
    await watcher.close();
    clearTimeout(timer);
    changed.clear();
    await running;
  };
}

/** Of a file's content; empty when it is no file any more. */
async function digestOf(file: string): Promise<string> {
  const content = await readFile(file).catch(() => undefined);
  return content === undefined ? '' : createHash('sha256').update(content).digest('base64');
}
