import { createHash } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { toJson } from '../../../functions/http/exact-json.ts';
import { isoTime } from '../command-line/output.ts';
import type { Session } from '../command-line/stage-command.ts';
import type { PetService } from './service.ts';

/**
 * What an import is called. `import_0123456789abcdef` is that of the animals of a file, so the same file has the same ID everywhere. One
 * run of it is `import_0123456789abcdef-mqd0f3k1`, with the time at which it began: a file can be imported again, after some of its
 * animals were removed. A run that was stopped goes on, under its ID, when the same command is run again.
 */

export function importIdOf(animals: readonly object[]): string {
  const hash = createHash('sha256');
  for (const each of animals) hash.update(`${toJson(each)}\n`);
  return `import_${hash.digest('hex').slice(0, 16)}`;
}

/** Returns whether a text is the ID of an import, or of one run of an import. */
export function isImportId(text: string): boolean {
  return /^import_[0-9a-f]{16}(-[0-9a-z]{8})?$/.test(text);
}

/** Whether a run, which an animal has, is this one, or one of this import. */
export function isRunOf(run: string, id: string): boolean {
  return run === id || run.startsWith(`${id}-`);
}

/** `2026-07-01T12:00:30Z` */
export function beganAt(run: string): string | null {
  return isoTime(Number.parseInt(run.split('-')[1] ?? '', 36) / 1_000);
}

/**
 * Begins a run, or goes on with the one that was stopped. A file beside the imported one has its ID until `end`.
 *
 * @param importId of the file's animals
 */
export async function beginRun({ service, output }: Session<PetService>, file: string, importId: string) {
  const note = `${file}.import`;
  const { tableName } = service.table;
  const [table, begun = ''] = (await readFile(note, 'utf8').catch(() => '')).trim().split(' ');
  const goesOn = table === tableName && isRunOf(begun, importId);
  const run = goesOn ? begun : `${importId}-${service.clock().toString(36)}`;
  try {
    await writeFile(note, `${tableName} ${run}\n`);
  } catch (error) {
    const { message } = error as Error;
    output.note(`If this import stops, the same command begins another one, because ${message}.`, 'yellow');
  }
  return { run, end: () => rm(note, { force: true }).catch(() => {}) };
}
