import { isDeepStrictEqual } from 'node:util';
import { newPet } from '../../../../functions/pets/schema.ts';
import { untilCurrent } from '../../command-line/change.ts';
import { ToolError, usageError } from '../../command-line/errors.ts';
import { counted, grouped } from '../../command-line/output.ts';
import { stageCommand, yesOption } from '../../command-line/stage-command.ts';
import { changeMany } from '../change-many.ts';
import { type LineWithId, readPetsWithIds } from '../files.ts';
import { beganAt, importIdOf, isRunOf } from '../import-runs.ts';
import { deleteItem, isAddedBy, lineOf, originOf, readItem, type StoredItem } from '../items.ts';
import { addedByOption, lookUp, nameOf, type Open, petId, rateOption, type Session } from '../pet-command.ts';
import { changeProgress } from '../progress.ts';

export const remove = (open: Open) =>
  stageCommand(
    'remove',
    'remove an animal for good, or what the import of a file has added',
    '--file animals.jsonl --stage prod --dry-run',
    `With a PET-ID, the output has the animal as a line for "import", which adds it again with the same ID.
With --file, an animal is removed if the import of this file has created it, and if it still equals its line. The others are named. If it
stops, run the same command again. "import" of the same file adds the animals again.`,
  )
    .argument('[pet-id]', 'ID of the animal, or of a malformed item', petId)
    .option('--file <file>', 'the imported file, in place of a PET-ID')
    .addOption(addedByOption('with --file: what this run of the import, this import or this key has added'))
    .option('--dry-run', 'with --file: only say what would be removed', false)
    .addOption(rateOption)
    .addOption(yesOption)
    .action(async (id, { file, ...options }) => {
      if ((id === undefined) === (file === undefined))
        throw usageError('Give either the PET-ID of an animal, or --file and an imported file.');
      if (file === undefined && (options.dryRun || options.addedBy !== undefined))
        throw usageError('--dry-run and --added-by require --file.');
      const session = await open(options);
      await (file === undefined ? removeOne(session, id!) : removeOfFile(session, file, options));
    });

async function removeOne({ service, output, confirm }: Session, id: string): Promise<void> {
  await untilCurrent(async () => {
    const { item, pet, malformed } = await lookUp(service, id);
    await confirm(`Remove ${pet ? nameOf(pet) : `${id} (malformed: ${malformed})`}?`);
    const line = pet ? lineOf(pet, item) : `malformed: ${malformed}`;
    await deleteItem(service, item, { did: 'removed', detail: line });
    output.result({ id, removed: pet ?? null }, pet ? line : `${id} is removed.`);
  });
}

interface RemoveOptions {
  readonly addedBy?: string | undefined;
  readonly dryRun: boolean;
  readonly rate: number;
}

/** A line whose animal stays. */
interface Kept {
  readonly line: number;
  readonly id: bigint;
  readonly why: string;
}

/** Kept animals that are named without --json. */
const keptShown = 20;
/** Animals that are read at the same time. */
const atOnce = 25;

async function removeOfFile(
  session: Session,
  file: string,
  { addedBy, dryRun, rate }: RemoveOptions,
): Promise<void> {
  const { output, confirm } = session;
  const lines = await readPetsWithIds(session, file, 'Give the file that was imported.');
  const importId = importIdOf(lines.map(({ pet }) => pet));
  const origin = addedBy ?? importId;
  const found = await checkAll(session, lines, origin);
  const { toRemove, kept } = found;
  const runs = [...found.runs].map(([run, animals]) => ({ run, beganAt: beganAt(run), animals }));
  const counts = { removed: 0, gone: found.gone };
  const result = (text: string) =>
    output.result(
      { file, origin, dryRun, animals: lines.length, toRemove: toRemove.length, ...counts, runs, kept },
      [
        ...runs.map(
          (each) => `${each.run}, which began at ${each.beganAt}: ${counted(each.animals, 'animal')}`,
        ),
        text,
      ],
    );
  const of = `${counted(toRemove.length, 'animal')} of ${grouped(lines.length)}`;
  const isChosen = runs.length < 2 || addedBy !== undefined;
  if (dryRun) {
    result(`To remove: ${of}. Not there: ${grouped(found.gone)}.`);
    if (!isChosen) output.note(chooseRun(file, importId, runs));
  } else {
    if (!isChosen) throw new ToolError('refused', chooseRun(file, importId, runs));
    if (toRemove.length > 0) {
      await confirm(`Remove ${of} in ${file}, which ${origin} has added?`);
      await changeMany(session, {
        verb: ['remove', 'removed'],
        file,
        items: toRemove,
        rate,
        write: async (line) => {
          const left = await removeLine(session, line, origin);
          if (left === 'removed') counts.removed += 1;
          else if (left === 'gone') counts.gone += 1;
          else kept.push({ line: line.number, id: line.pet.id, why: left.why });
        },
        written: () => (counts.removed > 0 ? `${counts.removed} that ${origin} has added` : ''),
      });
    }
    result(`Removed ${counted(counts.removed, 'animal')}. Not there: ${grouped(counts.gone)}.`);
  }
  if (kept.length === 0) return;
  kept.sort((a, b) => a.line - b.line);
  const named = kept.slice(0, keptShown).map(({ line, id, why }) => `line ${line} (${id}: ${why})`);
  const more =
    kept.length > keptShown ? ` and ${grouped(kept.length - keptShown)} more, which --json names` : '';
  const text = `${dryRun ? 'To keep' : 'Kept'}: ${counted(kept.length, 'animal')}, ${named.join(', ')}${more}.`;
  if (dryRun) output.note(text);
  else throw new ToolError('refused', `${text} To remove one of them, use "remove PET-ID".`);
}

function chooseRun(file: string, importId: string, runs: readonly { readonly run: string }[]): string {
  return `${file} was imported ${runs.length} times. Choose with --added-by: ${runs.map(({ run }) => run).join(', ')}, or ${importId} for all. "--dry-run" says when each began, and how many animals it has added.`;
}

/** What is to be done with the animal of each line. */
async function checkAll(session: Session, lines: readonly LineWithId[], origin: string) {
  const report = changeProgress(session, lines.length);
  const toRemove: LineWithId[] = [];
  const kept: Kept[] = [];
  /** Animals of each run. */
  const runs = new Map<string, number>();
  let gone = 0;
  for (let done = 0; done < lines.length;) {
    const some = lines.slice(done, done + atOnce);
    const items = await Promise.all(some.map(({ pet }) => readItem(session.service.table, String(pet.id))));
    for (const [index, line] of some.entries()) {
      const stored = items[index];
      const why = stored && whyKept(line, stored, origin);
      if (stored === undefined) gone += 1;
      else if (why !== undefined) kept.push({ line: line.number, id: line.pet.id, why });
      else {
        const { importId: run } = originOf(stored.item);
        if (run !== undefined && isRunOf(run, origin)) runs.set(run, (runs.get(run) ?? 0) + 1);
        toRemove.push(line);
      }
    }
    done += some.length;
    report(done, 'checked');
  }
  return { toRemove, kept, runs, gone };
}

/** Removes the animal of a line, unless somebody has changed it so that it stays. */
function removeLine(
  { service }: Session,
  line: LineWithId,
  origin: string,
): Promise<'removed' | 'gone' | { readonly why: string }> {
  return untilCurrent(async () => {
    const stored = await readItem(service.table, String(line.pet.id));
    if (stored === undefined) return 'gone';
    const why = whyKept(line, stored, origin);
    if (why !== undefined) return { why };
    await deleteItem(service, stored.item);
    return 'removed';
  });
}

/** Attributes that an animal has beside its fields. */
const ofStore = new Set(['id', 'addedBy', 'importId']);

/** Why the animal of a line stays. `undefined`: it is to be removed. */
function whyKept({ pet: wanted }: LineWithId, { item, pet, malformed }: StoredItem, origin: string) {
  const { addedBy, importId } = originOf(item);
  if (!isAddedBy(item, origin))
    return `added by ${importId ?? addedBy ?? 'somebody before the store kept it'}`;
  if (pet === undefined) return `malformed: ${malformed}`;
  // Another version of the service may have fields that this one does not know.
  const unknown = Object.keys(item).find((name) => !ofStore.has(name) && !(name in newPet.shape));
  if (unknown !== undefined) return `has "${unknown}", which its line has not`;
  const { addedBy: _, ...line } = wanted;
  return isDeepStrictEqual(pet, line) ? undefined : 'changed since';
}
