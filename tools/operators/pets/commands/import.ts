import { isDeepStrictEqual } from 'node:util';
import { Option } from '@commander-js/extra-typings';
import { toJson } from '../../../../functions/http/exact-json.ts';
import { stageCommand, yesOption } from '../../command-line/stage-command.ts';
import { ToolError } from '../../command-line/errors.ts';
import { counted, grouped } from '../../command-line/output.ts';
import { changeMany } from '../change-many.ts';
import { type LineWithId, newFileIds, readPets, readPetsWithIds, writeNewFile } from '../files.ts';
import { beginRun, importIdOf } from '../import-runs.ts';
import { lineOf, putNew, replaceItem } from '../items.ts';
import { type Open, rateOption, type Session } from '../pet-command.ts';
import type { PetService } from '../service.ts';

export const assignIds = (open: Open) =>
  stageCommand(
    'assign-ids',
    'write a file in which every animal has an ID, for "import"',
    'new.jsonl animals.jsonl --stage prod',
    `A line is an animal: {"name":"Rex","categoryId":7,"status":"available"}. Animals without an "id" get one as if they
were created within the last hour, in the order of the lines. Another run gives other IDs.`,
  )
    .argument('<file>', 'file of JSON Lines')
    .argument('<new-file>', 'file to write')
    .action(async (file, newFile, options) => {
      const session = await open(options);
      const lines = await readPets(session, file);
      const assigned = lines.filter(({ pet }) => pet.id === undefined).length;
      const ids = newFileIds(session.service, assigned);
      const texts = lines.map(
        ({ pet: { id = ids.next().value, ...rest } }) => `${toJson({ id, ...rest })}\n`,
      );
      await writeNewFile(newFile, texts);
      session.output.result(
        { file: newFile, animals: lines.length, assigned },
        `Wrote ${counted(lines.length, 'animal')} to ${newFile}, ${grouped(assigned)} with a new ID.`,
      );
    });

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
    .action(async (file, options) => importFile(await open(options), file, options));

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
  const items = await readPetsWithIds(
    session,
    file,
    `Run "assign-ids ${file} NEW-FILE" first, and import the new file.`,
  );
  const counts: Counts = { created: 0, present: 0, replaced: 0, kept: [] };
  const animals = items.length;
  const importId = importIdOf(items.map(({ pet }) => pet));
  const done = (text: string, run?: string) =>
    output.result({ file, importId, run, dryRun, animals, ...counts }, text);
  if (dryRun) return done(`${counted(animals, 'animal')} in ${file}. Nothing was imported.`);
  const replacing = {
    malformed: ', replacing malformed items',
    all: ', replacing all that differ, with what clients have changed',
  };
  await confirm(`Import ${counted(animals, 'animal')} from ${file}${replace ? replacing[replace] : ''}?`);
  const { run, end } = await beginRun(session, file, importId);
  await changeMany(session, {
    verb: ['import', 'imported'],
    file,
    as: run,
    items,
    rate,
    write: (line) => importPet(service, line, run, replace, counts),
    unchanged: () => (counts.present > 0 ? `${grouped(counts.present)} already there` : undefined),
    written: () =>
      counts.created + counts.replaced > 0 ? `${counts.created} created, ${counts.replaced} replaced` : '',
  });
  await end();
  const { created, present, replaced, kept } = counts;
  kept.sort((a, b) => a.line - b.line);
  done(
    `Created ${grouped(created)}, replaced ${grouped(replaced)}, already there ${grouped(present)}. This was ${run}.`,
    run,
  );
  if (kept.length === 0) return;
  const named = kept.slice(0, keptShown).map(({ line, id }) => `line ${line} (${id})`);
  const message = `Kept as stored: ${counted(kept.length, 'animal')} whose line differs, ${named.join(', ')}. "show PET-ID" prints what is stored. If that is another animal, remove the "id" from the line, and give it a new one with "assign-ids". To correct the stored animal, use "set-status" or "backfill".`;
  throw new ToolError('refused', message);
}

interface Counts {
  created: number;
  present: number;
  replaced: number;
  readonly kept: { readonly line: number; readonly id: bigint }[];
}

async function importPet(
  service: PetService,
  { number, pet: { addedBy, ...pet } }: LineWithId,
  run: string,
  replace: ImportOptions['replace'],
  counts: Counts,
): Promise<void> {
  const found = await putNew(service, pet, { addedBy, importId: run });
  if (found === undefined) counts.created += 1;
  else if (isDeepStrictEqual(found.pet, pet)) counts.present += 1;
  else if (replace === 'all' || (replace === 'malformed' && found.pet === undefined)) {
    const before = found.pet ? lineOf(found.pet, found.item) : `malformed: ${found.malformed}`;
    await replaceItem(service, found.item, pet, { did: 'replaced', detail: before });
    counts.replaced += 1;
  } else counts.kept.push({ line: number, id: pet.id });
}
