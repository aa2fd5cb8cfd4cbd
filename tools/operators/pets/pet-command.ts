import { InvalidArgumentError, Option } from '@commander-js/extra-typings';
import { idEpoch } from '../../../functions/pets/ids.ts';
import { parseInt64 } from '../../../functions/pets/int64.ts';
import type { Pet } from '../../../functions/pets/schema.ts';
import * as operator from '../command-line/stage-command.ts';
import { isoTime } from '../command-line/output.ts';
import { isKeyId } from '../keys/key-ids.ts';
import { isImportId } from './import-runs.ts';
import { type Item, originOf, readItem, type StoredItem } from './items.ts';
import type { PetService } from './service.ts';

/** What commands of the tool for animals share. */

export type Session = operator.Session<PetService>;
export type Open = operator.Open<PetService>;

/** A command about one animal. */
export function petCommand(name: string, summary: string, example: string, details?: string) {
  return operator
    .stageCommand(name, summary, example, details)
    .argument('<pet-id>', 'ID of the animal', petId);
}

/** A number as DynamoDB writes it: an int64, or the fraction of a malformed item. */
export function petId(text: string): string {
  if (parseInt64(text) !== undefined || /^-?(0|[1-9]\d{0,18})\.\d{0,18}[1-9]$/.test(text)) return text;
  throw new InvalidArgumentError('An ID of an animal is a whole number such as 114052972904448.');
}

/** An animal, or a malformed item. @throws ToolError if there is none */
export async function lookUp({ table, stage }: PetService, id: string): Promise<StoredItem> {
  return operator.existing(await readItem(table, id), `Animal ${id}`, stage);
}

/** Reads the whole table. No index has it, because every creation would pay for one. */
export function addedByOption(description = 'only animals that this key or import added') {
  return new Option('--added-by <id>', description).argParser((id) => {
    if (isKeyId(id) || isImportId(id)) return id;
    throw new InvalidArgumentError(
      'Give a key ID, such as key_06fz1m4tqabcdefg, or the ID that "import" prints, such as import_0123456789abcdef.',
    );
  });
}

/** Says that no animal has the origin that a filter names, if so. @param place such as `Stage prod` @param matches animals of this origin */
export function noteUnknownOrigin(
  { output }: Session,
  place: string,
  addedBy: string | undefined,
  matches: number,
): void {
  if (addedBy !== undefined && matches === 0)
    output.note(operator.noMatch(place, `animals added by ${addedBy}`), 'yellow');
}

export const rateOption = new Option('--rate <n>', 'animals written a second, at most')
  .argParser(operator.wholeNumber(1, 1_000))
  .default(200);

/** A pet as a question or an audit line names it. The line is printed, not stored: every page of a list would pay for it. */
export function nameOf({ id, name, status }: Pet): string {
  return `${id} (${name}, ${status})`;
}

/** A pet as commands print it. @param item has who added it */
export function viewOf({ id, ...pet }: Pet, item: Item = {}) {
  const createdAt = isoTime(Number(id >> 12n) / 1000 + idEpoch / 1000);
  return { id, ...pet, createdAt, ...originOf(item) };
}
