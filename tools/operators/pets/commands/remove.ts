import { toJson } from '../../../../functions/http/exact-json.ts';
import { yesOption } from '../../command-line/stage-command.ts';
import { printable } from '../../command-line/output.ts';
import { existing, nameOf, type Open, petCommand } from '../pet-command.ts';
import { deleteItem } from '../items.ts';

export const remove = (open: Open) =>
  petCommand(
    'remove',
    'remove an animal for good, or a malformed item',
    '114052972904448 --stage prod',
    'The output has the animal as a line for "import", which adds it again with the same ID.',
  )
    .addOption(yesOption)
    .action((id, options) =>
      open(options, async ({ service, output, confirm }) => {
        const { item, pet, malformed } = await existing(service, id);
        await confirm(`Remove ${pet ? nameOf(pet) : `${id} (malformed: ${printable(malformed)})`}?`);
        await deleteItem(service, item);
        const line = pet ? toJson(pet) : `malformed: ${malformed}`;
        await service.report({ petId: id }, 'removed', printable(line));
        output.result({ id, removed: pet ?? null }, printable(pet ? line : `${id} is removed.`));
      }),
    );
