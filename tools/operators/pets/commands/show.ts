import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';
import { toJson } from '../../../../functions/http/exact-json.ts';
import { tableLines } from '../../command-line/output.ts';
import { lookUp, type Open, petCommand, viewOf } from '../pet-command.ts';

export const show = (open: Open) =>
  petCommand('show', 'show an animal, or what is wrong with its item', '114052972904448 --stage prod').action(
    async (id, options) => {
      const { service, output } = await open(options);
      const { item, pet, malformed } = await lookUp(service, id);
      if (pet === undefined) {
        // Numbers are shown by their digits.
        const attributes = unmarshall(marshall(item), { wrapNumbers: String });
        const text = [`${id} is malformed: ${malformed}`, toJson(attributes)];
        output.result({ id, malformed, item: attributes }, text);
        return;
      }
      const view = viewOf(pet, item);
      const rows = Object.entries(view).map(([name, value]) => [name, String(value ?? '-')]);
      output.result(view, tableLines(rows));
    },
  );
