import { Argument } from '@commander-js/extra-typings';
import { petStatuses } from '../../../../functions/pets/schema.ts';
import { yesOption } from '../../command-line/stage-command.ts';
import { ToolError } from '../../command-line/errors.ts';
import { existing, nameOf, type Open, petCommand } from '../pet-command.ts';
import { writeStatus } from '../items.ts';

export const setStatus = (open: Open) =>
  petCommand('set-status', 'change the status of an animal', '114052972904448 sold --stage prod')
    .addArgument(new Argument('<status>', 'the new status').choices(petStatuses))
    .addOption(yesOption)
    .action((id, status, options) =>
      open(options, async ({ service, output, confirm }) => {
        const { item, pet, malformed } = await existing(service, id);
        if (pet === undefined) {
          const advice = 'Repair it with "import --replace malformed".';
          throw new ToolError('refused', `Animal ${id} is malformed (${malformed}). ${advice}`);
        }
        const changed = pet.status !== status;
        if (changed) {
          await confirm(`Change ${nameOf(pet)} to ${status}?`);
          await writeStatus(service, { item, pet }, status);
          await service.report({ petId: id }, 'changed status', `${pet.status} → ${status}`);
        }
        output.result(
          { id: pet.id, changed, status },
          `${id} ${changed ? 'is' : 'was'} ${status}${changed ? '' : ' before'}.`,
        );
      }),
    );
