import { Argument } from '@commander-js/extra-typings';
import { petStatuses } from '../../../../functions/pets/schema.ts';
import { ToolError } from '../../command-line/errors.ts';
import { yesOption } from '../../command-line/stage-command.ts';
import { idOf, updateItem } from '../items.ts';
import { nameOf, onPet, type Open, petCommand } from '../pet-command.ts';

export const setStatus = (open: Open) =>
  petCommand('set-status', 'change the status of an animal', '114052972904448 sold --stage prod')
    .addArgument(new Argument('<status>', 'the new status').choices(petStatuses))
    .addOption(yesOption)
    .action((petId, status, options) => {
      const run = onPet(open, async ({ service, output, confirm }, { item, pet, malformed }) => {
        const id = idOf(item);
        if (pet === undefined) {
          const advice = 'Repair it with "import --replace malformed".';
          throw new ToolError('refused', `Animal ${id} is malformed (${malformed}). ${advice}`);
        }
        const changed = pet.status !== status;
        if (changed) {
          await confirm(`Change ${nameOf(pet)} to ${status}?`);
          const detail = `${pet.status} → ${status}`;
          await updateItem(service, item, { status }, { did: 'changed status', detail });
        }
        const text = changed ? `is ${status}` : `was ${status} before`;
        output.result({ id: pet.id, changed, status }, `${id} ${text}.`);
      });
      return run(petId, options);
    });
