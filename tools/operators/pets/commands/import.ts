import { isDeepStrictEqual } from 'node:util';
import { Option } from '@commander-js/extra-typings';
import { toJson } from '../../../../functions/http/exact-json.ts';
import type { Pet } from '../../../../functions/pets/schema.ts';
import { stageCommand, yesOption } from '../../command-line/stage-command.ts';
import { ToolError, usageError } from '../../command-line/errors.ts';
import { counted, grouped, printable } from '../../command-line/output.ts';
import { type Open, rateOption, type Session } from '../pet-command.ts';
import { putNew, replaceItem } from '../items.ts';
import { writeEach } from '../paced.ts';
import { checkFile, type Line, linesOf, newestId, parseLine } from '../lines.ts';
import type { PetService } from '../service.ts';

const replaceable = ['malformed', 'all'] as const;

export const importPets = (open: Open) =>
  stageCommand(
    'import',
    'add the animals of a file of JSON Lines that are not there yet',
    'animals.jsonl --stage prod --rate 500',
    `A line is an animal: {"id":114052972904448,"name":"Rex","categoryId":7,"status":"available"}; "assign-ids" gives the
lines IDs. All are checked before the first is imported. If the import stops, run the same command again.
To correct an animal, use "set-status" or "backfill", which keep what clients change meanwhile.`,
  )
    .argument('<file>', 'file of JSON Lines')
    .addOption(rateOption)
    .addOption(
      new Option(
        '--replace <which>',
        'replace items that have the ID of a line and differ: malformed ones, or all, which undoes what clients have changed',
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

/** Kept animals that are named. */
const keptShown = 20;

async function importFile(
  session: Session,
  file: string,
  { rate, replace, dryRun }: ImportOptions,
): Promise<void> {
  const { service, output, confirm } = session;
  const newest = newestId(service);
  const { pets, withoutId } = await checkFile(session, file, newest);
  if (withoutId > 0)
    throw usageError(
      `${file} has ${counted(withoutId, 'animal')} without an ID. Run "assign-ids ${file} NEW-FILE" first, and import the new file.`,
    );
  const counts: Counts = { created: 0, present: 0, replaced: 0, kept: [] };
  if (dryRun) {
    const text = `${counted(pets, 'animal')} in ${file}. Nothing was imported.`;
    output.result({ file, dryRun, animals: pets, ...counts }, text);
    return;
  }
  const replacing = {
    malformed: ', replacing malformed items',
    all: ', replacing all that differ, with what clients have changed',
  };
  await confirm(`Import ${counted(pets, 'animal')} from ${file}${replace ? replacing[replace] : ''}?`);
  service.report({ file }, await service.auditLine('began to import', counted(pets, 'animal')));
  const changed = new ToolError('failed', `${file} was changed during the import.`);
  try {
    const lines = exactly(linesOf(file), pets, changed);
    await writeEach(session, lines, { total: pets, rate }, async (line) => {
      const pet = parseLine(line, newest);
      if (typeof pet === 'string' || pet.id === undefined) throw changed;
      await importPet(service, line.number, { ...pet, id: pet.id }, replace, counts);
    });
  } catch (error) {
    output.note('The import has stopped. The same command adds what is missing.', 'yellow');
    throw error;
  } finally {
    const detail = `${counts.created} created, ${counts.replaced} replaced`;
    if (counts.created + counts.replaced > 0)
      service.report({ file }, await service.auditLine('imported', detail));
  }
  counts.kept.sort((a, b) => a.line - b.line);
  const { created, present, replaced, kept } = counts;
  const text = `Created ${grouped(created)}, replaced ${grouped(replaced)}, already there ${grouped(present)}.`;
  output.result({ file, dryRun, animals: pets, ...counts }, text);
  if (kept.length > 0) {
    const list = kept
      .map(({ line, id }) => `line ${line} (${id})`)
      .slice(0, keptShown)
      .join(', ');
    const message = `Kept as stored: ${counted(kept.length, 'animal')} whose line differs, ${list}. "show PET-ID" prints what is stored. If that is another animal, remove the "id" from the line, and give it a new one with "assign-ids". To correct the stored animal, use "set-status" or "backfill".`;
    throw new ToolError('refused', message);
  }
}

interface Counts {
  created: number;
  present: number;
  replaced: number;
  readonly kept: { readonly line: number; readonly id: bigint }[];
}

/** The lines of a file that is not changed meanwhile. @throws `changed` if it has more or fewer animals */
async function* exactly(lines: AsyncIterable<Line>, count: number, changed: Error): AsyncGenerator<Line> {
  let left = count;
  for await (const line of lines) {
    if (left === 0) throw changed;
    left -= 1;
    yield line;
  }
  if (left > 0) throw changed;
}

/** @param number of the line */
async function importPet(
  service: PetService,
  number: number,
  pet: Pet,
  replace: ImportOptions['replace'],
  counts: Counts,
): Promise<void> {
  const found = await putNew(service, pet);
  if (found === undefined) counts.created += 1;
  else if (isDeepStrictEqual(found.pet, pet)) counts.present += 1;
  else if (replace === 'all' || (replace === 'malformed' && found.pet === undefined)) {
    const before = found.pet ? toJson(found.pet) : `malformed: ${found.malformed}`;
    await replaceItem(service, found.item, pet, { did: 'replaced', detail: printable(before) });
    counts.replaced += 1;
  } else counts.kept.push({ line: number, id: pet.id });
}
