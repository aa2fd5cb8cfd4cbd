import { toJson } from '../../../../functions/http/exact-json.ts';
import { untilCurrent } from '../../command-line/change.ts';
import { counted, grouped } from '../../command-line/output.ts';
import { stageCommand, yesOption } from '../../command-line/stage-command.ts';
import { changeMany } from '../change-many.ts';
import { type Decide, loadChangeModule } from '../change-module.ts';
import { scanProgress } from '../progress.ts';
import { type Attributes, idOf, leftOutText, readItem, updateItem, validPagesOf } from '../items.ts';
import { nameOf, type Open, rateOption, type Session } from '../pet-command.ts';

export const backfill = (open: Open) =>
  stageCommand(
    'backfill',
    'change attributes of all animals, while the service runs',
    'trim-names.ts --stage prod --dry-run',
    `The default export of the module takes an animal and returns the fields to set, null for one to remove, or undefined:
  export default ({ name }) => ({ name: name.trim() });
To change one animal:
  export default ({ id }) => (id === 114052972904448n ? { name: 'Rex' } : undefined);
Whole numbers are bigint, so they end with n.
The function must change nothing in its own result, because a second run would otherwise change an animal again: not name + '!'. The command checks this for every animal.
Run it from the commit that is deployed, because another one may have other fields. Each animal is written alone, and read again if someone changes it meanwhile. All are checked before the first is written.
If it stops, run the same command again.`,
  )
    .argument('<module>', 'JavaScript or TypeScript module')
    .addOption(rateOption)
    .option('--dry-run', 'only check and show the changes', false)
    .option(
      '--allow-invalid',
      'also write what a creation would refuse: other fields, and values that are not valid',
      false,
    )
    .addOption(yesOption)
    .action(async (module, options) => backfillPets(await open(options), module, options));

/** Changes that are shown. */
const examplesShown = 5;

async function backfillPets(
  session: Session,
  module: string,
  options: { readonly rate: number; readonly dryRun: boolean; readonly allowInvalid: boolean },
): Promise<void> {
  const { rate, dryRun } = options;
  const { output, confirm } = session;
  const decide = await loadChangeModule(module, options);
  const { ids, examples, ...counts } = await checkAll(session, decide);
  const toChange = ids.length;
  const of = `${counted(toChange, 'animal')} of ${grouped(counts.animals)}`;
  let changed = 0;
  if (toChange === 0)
    output.note(
      'Nothing to change. If that is unexpected: whole numbers are bigint, so compare with 7n, not with 7.',
    );
  else if (!dryRun) {
    await confirm(`Change ${of} with ${module}?`);
    await changeMany(session, {
      verb: ['backfill', 'backfilled'],
      file: module,
      items: ids,
      rate,
      write: async (id) => {
        if (await changeOne(session, id, decide)) changed += 1;
      },
      written: () => (changed > 0 ? counted(changed, 'animal') : ''),
    });
  }
  const lines = examples.map(({ animal, set }) => `${animal}: ${toJson(set)}`);
  const done = dryRun ? `To change: ${of}.` : `Changed ${counted(changed, 'animal')}.`;
  const shown = examples.map(({ id, set }) => ({ id, set }));
  const result = { module, dryRun, ...counts, toChange, examples: shown, changed };
  output.result(result, [...(dryRun ? lines : []), done + leftOutText(counts)]);
}

/** Decides for every animal, so that a module that must not be used is refused before anything is written. */
async function checkAll(session: Session, decide: Decide) {
  const { service } = session;
  const report = await scanProgress(session, service.table, { did: 'Checked', name: 'checked' });
  const examples: { readonly id: bigint; readonly animal: string; readonly set: Attributes }[] = [];
  /** The IDs of the animals to change. */
  const ids: string[] = [];
  const counts = { animals: 0, malformed: 0 };
  for await (const page of validPagesOf(service, service.table, counts)) {
    if (counts.animals > 0) report(counts.animals);
    for (const { item, pet } of page) {
      counts.animals += 1;
      const wanted = await decide(item);
      if (wanted === undefined) continue;
      if (ids.push(idOf(item)) <= examplesShown)
        examples.push({ id: pet.id, animal: nameOf(pet), set: wanted.shown });
    }
  }
  return { ...counts, ids, examples };
}

/** Reads an animal, decides and writes; again if someone else has changed it. @returns whether it was changed */
function changeOne({ service }: Session, id: string, decide: Decide): Promise<boolean> {
  return untilCurrent(async () => {
    const stored = await readItem(service.table, id);
    const wanted = stored?.pet && (await decide(stored.item));
    if (stored === undefined || wanted === undefined) return false;
    await updateItem(service, stored.item, wanted.attributes);
    return true;
  }, 10);
}
