import { toJson } from '../../../../functions/http/exact-json.ts';
import { printable, table } from '../../command-line/output.ts';
import { onPet, type Open, petCommand, viewOf } from '../pet-command.ts';
import { idOf, type Item } from '../items.ts';

export const show = (open: Open) =>
  petCommand('show', 'show an animal, or what is wrong with its item', '114052972904448 --stage prod').action(
    onPet(open, async ({ output }, { item, pet, malformed }) => {
      if (pet === undefined) {
        const id = idOf(item);
        const text = `${id} is malformed: ${printable(malformed)}\n${printable(toJson(plain(item)))}`;
        output.result({ id, malformed, item: plain(item) }, text);
        return;
      }
      const rows = Object.entries(viewOf(pet)).map(([name, value]) => [
        name,
        printable(String(value ?? '-')),
      ]);
      output.result(viewOf(pet), table(rows));
    }),
  );

/** An item for people: numbers as their digits. */
function plain(item: Item): unknown {
  return JSON.parse(
    JSON.stringify(item, (_name, value: unknown) =>
      typeof value === 'object' && value !== null && 'value' in value && Object.keys(value).length === 1
        ? String(value.value)
        : value,
    ),
  );
}
