import { Argument } from '@commander-js/extra-typings';
import { petStatuses } from '../../../../functions/pets/schema.ts';
import { untilCurrent } from '../../command-line/change.ts';
import { ToolError } from '../../command-line/errors.ts';
import { yesOption } from '../../command-line/stage-command.ts';
import { updateItem } from '../items.ts';
import { lookUp, nameOf, type Open, petCommand } from '../pet-command.ts';

export const setStatus = (open: Open) =>
  petCommand('set-status', 'change the status of an animal', '114052972904448 sold --stage prod')
    .addArgument(new Argument('<status>', 'the new status').choices(petStatuses))
    .addOption(yesOption)
    .action(async (id, status, options) => {
      const { service, output, confirm } = await open(options);
      await untilCurrent(async () => {
        const { item, pet, malformed } = await lookUp(service, id);
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
    });
