import { toJson } from '../../../../functions/http/exact-json.ts';
import { untilCurrent } from '../../command-line/change.ts';
import { counted, printable } from '../../command-line/output.ts';
import { stageCommand, yesOption } from '../../command-line/stage-command.ts';
import { type Decide, loadChangeModule } from '../change-module.ts';
import { type Attributes, idOf, pagesOf, readItem, updateItem } from '../items.ts';
import { nameOf, type Open, rateOption, type Session } from '../pet-command.ts';
import { writeEach } from '../paced.ts';

export const backfill = (open: Open) =>
  stageCommand(
    'backfill',
    'change attributes of all animals, while the service runs',
    'add-nickname.ts --stage prod --dry-run',
    `The default export of the module takes an animal and returns the attributes to set, null for one to remove, or undefined:
  export default ({ name }) => ({ nickname: name.toUpperCase() });
To change one animal:
  export default ({ id }) => (id === 114052972904448n ? { name: 'Rex' } : undefined);
Whole numbers are bigint, so they end with n. Each animal is written alone, and read again if someone changes it meanwhile. All are checked before the first is written.
If it stops, run the same command again.`,
  )
    .argument('<module>', 'JavaScript or TypeScript module')
    .addOption(rateOption)
    .option('--dry-run', 'only check and show the changes', false)
    .addOption(yesOption)
    .action((module, options) => open(options, (session) => backfillPets(session, module, options)));

/** Changes that are shown. */
const examplesShown = 5;

interface BackfillOptions {
  readonly rate: number;
  readonly dryRun: boolean;
}

async function backfillPets(
  session: Session,
  module: string,
  { rate, dryRun }: BackfillOptions,
): Promise<void> {
  const { service, output, confirm } = session;
  const decide = await loadChangeModule(module);
  const found = await checkAll(session, decide);
  const { animals, toChange, malformed, examples } = found;
  const of = `${counted(toChange, 'animal')} of ${animals.toLocaleString('en-US')}`;
  if (!dryRun && toChange > 0) await confirm(`Change ${of} with ${module}?`);
  let changed = 0;
  try {
    if (!dryRun && toChange > 0) {
      service.report(
        { file: module },
        await service.auditLine('began to backfill', counted(toChange, 'animal')),
      );
      await writeEach(session, idsToChange(session, decide), { total: toChange, rate }, async (id) => {
        if (await changeOne(session, id, decide)) changed += 1;
      });
    }
  } catch (error) {
    output.note('The backfill has stopped. The same command does what is missing.', 'yellow');
    throw error;
  } finally {
    if (changed > 0)
      service.report({ file: module }, await service.auditLine('backfilled', counted(changed, 'animal')));
  }
  const left = malformed === 0 ? '' : ` Left out: ${counted(malformed, 'malformed item')}.`;
  const lines = examples.map(({ animal, set }) => `${animal}: ${printable(toJson(set))}\n`).join('');
  if (toChange === 0)
    output.note(
      'Nothing to change. If that is unexpected: whole numbers are bigint, so compare with 7n, not with 7.',
    );
  const done = dryRun ? `${lines}To change: ${of}.` : `Changed ${counted(changed, 'animal')}.`;
  const shown = examples.map(({ id, set }) => ({ id, set }));
  output.result({ module, dryRun, ...found, examples: shown, changed }, done + left);
}

/** Decides for every animal, so that a module that must not be used is refused before anything is written. */
async function checkAll({ service, output }: Session, decide: Decide) {
  const examples: { readonly id: bigint; readonly animal: string; readonly set: Attributes }[] = [];
  let [animals, toChange, malformed] = [0, 0, 0];
  for await (const page of pagesOf(service.table)) {
    if (animals > 0)
      output.report({ progress: { checked: animals } }, `Checked ${counted(animals, 'animal')}`);
    for (const { item, pet, malformed: problem } of page) {
      if (pet === undefined) {
        malformed += 1;
        service.notify(`${idOf(item)} is malformed: ${printable(problem)}`);
        continue;
      }
      animals += 1;
      const wanted = await decide(item);
      if (wanted === undefined) continue;
      toChange += 1;
      if (toChange <= examplesShown) examples.push({ id: pet.id, animal: nameOf(pet), set: wanted.shown });
    }
  }
  return { animals, toChange, malformed, examples };
}

async function* idsToChange({ service: { table } }: Session, decide: Decide): AsyncGenerator<string> {
  for await (const page of pagesOf(table))
    for (const { item, pet } of page) if (pet && (await decide(item))) yield idOf(item);
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
