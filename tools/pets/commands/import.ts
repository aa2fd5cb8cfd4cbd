import { createHash } from 'node:crypto';
import { realpath, rm, stat } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { Option } from '@commander-js/extra-typings';
import { z } from 'zod';
import { newPetId } from '../../../functions/pets/ids.ts';
import type { Pet } from '../../../functions/pets/schema.ts';
import { stageCommand, wholeNumber, yesOption } from '../../command-line/command.ts';
import { ToolError, usageError } from '../../command-line/errors.ts';
import { counted, grouped, type Output, printable } from '../../command-line/output.ts';
import { nameOf, type Open, type Session } from '../command.ts';
import { putNew, replaceItem, type StoredItem } from '../items.ts';
import { checkFile, type ImportedPet, isBlank, type Line, LinesHash, linesOf, parseLine } from '../lines.ts';
import { lockFile } from '../lock.ts';
import { readProgress, writeProgress } from '../progress.ts';
import type { PetService } from '../service.ts';
import { identityOf } from '../table.ts';

const replaceable = ['malformed', 'all'] as const;

export const importPets = (open: Open) =>
  stageCommand(
    'import',
    'add the animals of a file of JSON Lines',
    'animals.jsonl --stage prod --rate 500',
    `A line is an animal: {"name":"Rex","categoryId":7,"status":"available"}. With an "id" it gets that ID, otherwise a
new one. All lines are checked before the first is imported. If the import stops, the same command continues it.`,
  )
    .argument('<file>', 'file of JSON Lines')
    .option('--rate <n>', 'animals a second at most', wholeNumber(1, 1_000), 200)
    .addOption(
      new Option(
        '--replace <which>',
        'replace items that have the ID of a line and differ: malformed ones, or all',
      ).choices(replaceable),
    )
    .option('--dry-run', 'only check the lines', false)
    .addOption(yesOption)
    .action((file, options) => open(options, (session) => importFile(session, file, options)));

interface ImportOptions {
  readonly rate: number;
  readonly replace?: (typeof replaceable)[number] | undefined;
  readonly dryRun: boolean;
}

const progressSchema = z.object({
  /** The identity of the table that they were imported to, for people: the name of the file depends on it. */
  table: z.string(),
  /** Lines that were imported. */
  done: z.int().min(0),
  hash: z.string(),
  /** The ID of the first line if it has none of its own. */
  firstId: z.string().regex(/^\d+$/).transform(BigInt),
  /** Which existing items these lines have replaced. */
  replace: z.enum(replaceable).optional(),
});
type Progress = z.infer<typeof progressSchema>;

/** Lines that are imported at the same time. */
const chunkSize = 25;
/** Problems that are printed. */
const problemsShown = 20;
/** Milliseconds between two reports of the progress. */
const reportEvery = 5_000;

async function importFile(session: Session, file: string, options: ImportOptions): Promise<void> {
  const { service } = session;
  // `-` is standard input in other commands.
  if (file === '-' || !(await stat(file)).isFile())
    throw usageError(
      `${file} is not a regular file. An import reads it twice, and continues it after a stop: save its lines to a file.`,
    );
  // Every store has its own progress of the file.
  const table = await identityOf(service.table);
  const mark = createHash('sha256').update(table).digest('hex').slice(0, 8);
  const path = `${await realpath(file)}.${service.stackName}.${mark}.progress`;
  const unlock = options.dryRun ? () => {} : await lockFile(path, `import of ${file} to ${service.stage}`);
  try {
    await importLocked(session, { file, path, table }, options);
  } finally {
    unlock();
  }
}

interface Source {
  readonly file: string;
  /** Of the progress file. */
  readonly path: string;
  /** The identity of the table. */
  readonly table: string;
}

async function importLocked(
  { service, output, confirm }: Session,
  { file, path, table }: Source,
  { rate, replace, dryRun }: ImportOptions,
): Promise<void> {
  let earlier = await readProgress(path, progressSchema);
  const now = service.clock() + service.clockOffset;
  const newest = newPetId(now, 0);
  const checked = await checkFile(file, newest, earlier?.done ?? 0);
  const { lines, pets, hasAllIds, problems } = checked;
  for (const { line, problem } of problems.slice(0, problemsShown))
    output.report({ invalid: { line, problem } }, `${file}:${line}: ${printable(problem)}`);
  if (problems.length > 0)
    throw usageError(`${file} has ${counted(problems.length, 'invalid line')}. Nothing was imported.`);
  if (pets === 0) throw usageError(`${file} has no animals.`);
  if (earlier !== undefined && earlier.hash !== checked.hashOfFirst) {
    if (!hasAllIds)
      throw new ToolError(
        'refused',
        `The first ${counted(earlier.done, 'line')} of ${file} must be as imported. Restore them, or import other lines from another file.`,
      );
    earlier = undefined; // other animals in a file of the same name, which cannot be added twice
  }
  const counts: Counts = { created: 0, present: 0, replaced: 0, kept: [] };
  const done = earlier?.done ?? 0;
  // Lines with an ID are compared again, now that more of what they meet is replaced.
  const again = done > 0 && replace !== undefined && replace !== earlier?.replace;
  if (dryRun || (done === lines && !again)) {
    const text = dryRun
      ? `${counted(pets, 'animal')} in ${file}. Nothing was imported.`
      : `${file} was imported before.`;
    output.result({ file, dryRun, lines, done, ...counts }, text);
    return;
  }
  const rest = done === 0 || again ? '' : `, from line ${grouped(done + 1)} on`;
  const replacing = replace === undefined ? '' : `, replacing ${replace} that differ`;
  if (service.clockOffset < -1_000)
    service.notify(
      `The clock of this machine is ${counted(Math.round(-service.clockOffset / 1_000), 'second')} ahead of AWS's. The animals get IDs by AWS's.`,
    );
  await confirm(`Import ${counted(pets, 'animal')} from ${file}${rest}${replacing}?`);
  // A whole millisecond has 4,096 IDs. The block ends now, so that the animals are the newest.
  const firstId = earlier?.firstId ?? newest - BigInt(Math.ceil(lines / 4_096) * 4_096);
  const start = { table, firstId, done, replace: earlier ? earlier.replace : replace };
  const changed = new ToolError('failed', `${file} was changed during the import.`);
  try {
    const position = { file, path, lines, rate, again, ...start };
    const hash = await eachChunk(service, output, position, async (line) => {
      const pet = parseLine(line, newest);
      if (line.number > lines || typeof pet === 'string') throw changed;
      if (line.number <= done && pet.id === undefined) return;
      await importPet({ service, replace, firstId }, line, pet, counts);
    });
    // Lines could be missing.
    if (hash !== checked.hash) throw changed;
    if (hasAllIds) await rm(path, { force: true });
    else if (again)
      await writeProgress(path, {
        ...(await readProgress(path, progressSchema)),
        firstId: String(firstId),
        replace,
      });
  } catch (error) {
    output.note('The import has stopped. Run the same command again to continue it.', 'yellow');
    throw error;
  } finally {
    const detail = `${counts.created} created, ${counts.replaced} replaced`;
    if (counts.created + counts.replaced > 0) await service.report({ file }, 'imported', detail);
  }
  counts.kept.sort((a, b) => a.line - b.line);
  const { created, present, replaced, kept } = counts;
  const text = `Created ${grouped(created)}, replaced ${grouped(replaced)}, already there ${grouped(present)}.`;
  output.result({ file, dryRun, lines, done: lines, ...counts }, text);
  if (kept.length > 0) {
    const list = kept
      .map(({ line, id }) => `line ${line} (${id})`)
      .slice(0, problemsShown)
      .join(', ');
    const message = `Kept, because other values are stored: ${counted(kept.length, 'animal')}, ${list}. "--replace all" replaces them.`;
    throw new ToolError('refused', message);
  }
}

interface Counts {
  created: number;
  present: number;
  replaced: number;
  readonly kept: { readonly line: number; readonly id: bigint }[];
}

interface Position extends Omit<Progress, 'hash'> {
  readonly file: string;
  /** Of the progress file. */
  readonly path: string;
  readonly lines: number;
  /** Lines a second. */
  readonly rate: number;
  /** Whether the lines that are done are gone through again. */
  readonly again: boolean;
}

/**
 * Imports the lines that are left, a few at a time, and writes down how far it got.
 *
 * @returns the hash of all lines
 */
async function eachChunk(
  { clock, sleep }: PetService,
  output: Output,
  { file, path, table, done, lines, firstId, replace, rate, again }: Position,
  importLine: (line: Line) => Promise<void>,
): Promise<string> {
  const hash = new LinesHash();
  const save = (number: number) =>
    writeProgress(path, { table, done: number, hash: hash.value, firstId: String(firstId), replace });
  const startedAt = clock();
  let reportedAt = startedAt;
  let imported = 0;
  const finish = async (chunk: readonly Line[]) => {
    const pets = chunk.filter((line) => !isBlank(line));
    const results = await Promise.allSettled(pets.map((line) => importLine(line)));
    for (const result of results) if (result.status === 'rejected') throw result.reason;
    for (const line of chunk) if (line.number > done) hash.add(line);
    const { number } = chunk.at(-1)!;
    if (number > done) await save(number);
    if (clock() - reportedAt >= reportEvery) {
      reportedAt = clock();
      output.report({ progress: { done: number, lines } }, `${grouped(number)} of ${counted(lines, 'line')}`);
    }
    imported += pets.length;
    const wait = startedAt + (imported * 1_000) / rate - clock();
    if (wait > 0) await sleep(wait);
  };
  if (done === 0) await save(0);
  let chunk: Line[] = [];
  for await (const line of linesOf(file)) {
    if (line.number <= done) hash.add(line);
    if (line.number <= done && !again) continue;
    if (chunk.push(line) < chunkSize) continue;
    await finish(chunk);
    chunk = [];
  }
  if (chunk.length > 0) await finish(chunk);
  return hash.value;
}

interface Importer {
  readonly service: PetService;
  readonly replace: ImportOptions['replace'];
  readonly firstId: bigint;
}

/** IDs between two that are tried for a line: 17 minutes. */
const nextTry = 2n ** 32n;

/**
 * Stores the pet of a line. A line without an ID gets the same one in every run, so that an import that continues does
 * not add it twice.
 */
async function importPet(
  { service, replace, firstId }: Importer,
  { number }: Line,
  { id, ...pet }: ImportedPet,
  counts: Counts,
): Promise<void> {
  if (id === undefined) {
    for (let tried = 0n; tried < 5n; tried += 1n) {
      const own = { id: firstId + BigInt(number - 1) - tried * nextTry, ...pet };
      const found = await putNew(service, own);
      if (found === undefined) counts.created += 1;
      else if (isSameAnimal(found, own)) counts.present += 1;
      else continue; // the service gave this ID to another animal
      return;
    }
    throw new ToolError('failed', `Line ${number} found no free ID.`);
  }
  const given = { id, ...pet };
  const found = await putNew(service, given);
  if (found === undefined) counts.created += 1;
  else if (isDeepStrictEqual(found.pet, given)) counts.present += 1;
  else if (replace === 'all' || (replace === 'malformed' && found.pet === undefined)) {
    await replaceItem(service, found.item, given);
    counts.replaced += 1;
    const before = found.pet ? nameOf(found.pet) : `malformed: ${printable(found.malformed)}`;
    await service.report({ petId: String(id) }, 'replaced', before);
  } else counts.kept.push({ line: number, id });
}

/** Whether an earlier run has imported the line. The animal may have another status since. */
function isSameAnimal({ pet }: StoredItem, own: Pet): boolean {
  return pet !== undefined && isDeepStrictEqual({ ...pet, status: own.status }, own);
}
