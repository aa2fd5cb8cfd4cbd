import { toJson } from '../../../../functions/http/exact-json.ts';
import { printable } from '../../command-line/output.ts';
import { yesOption } from '../../command-line/stage-command.ts';
import { deleteItem, idOf } from '../items.ts';
import { nameOf, onPet, type Open, petCommand } from '../pet-command.ts';

export const remove = (open: Open) =>
  petCommand(
    'remove',
    'remove an animal for good, or a malformed item',
    '114052972904448 --stage prod',
    'The output has the animal as a line for "import", which adds it again with the same ID.',
  )
    .addOption(yesOption)
    .action(
      onPet(open, async ({ service, output, confirm }, { item, pet, malformed }) => {
        const id = idOf(item);
        await confirm(`Remove ${pet ? nameOf(pet) : `${id} (malformed: ${printable(malformed)})`}?`);
        const line = printable(pet ? toJson(pet) : `malformed: ${malformed}`);
        await deleteItem(service, item, { did: 'removed', detail: line });
        output.result({ id, removed: pet ?? null }, pet ? line : `${id} is removed.`);
      }),
    );
