import { InvalidArgumentError, Option } from '@commander-js/extra-typings';
import { parseInt64 } from '../../../../functions/pets/int64.ts';
import { pageSize } from '../../../../functions/pets/listing.ts';
import { type Pet, type PetStatus, petStatuses } from '../../../../functions/pets/schema.ts';
import { byStatus, listPets } from '../../../../functions/pets/store.ts';
import { stageCommand, wholeNumber } from '../../command-line/stage-command.ts';
import { tableLines } from '../../command-line/output.ts';
import { idOf, isAddedBy, pagesOf, validPagesOf } from '../items.ts';
import { addedByOption, noteUnknownOrigin, type Open, type Session, viewOf } from '../pet-command.ts';
import type { PetService } from '../service.ts';

export const list = (open: Open) =>
  stageCommand('list', 'list animals, newest first', '--stage prod --status available --limit 50')
    .addOption(new Option('--status <status>', 'only animals with this status').choices(petStatuses))
    .option('--limit <n>', 'animals at most', wholeNumber(pageSize.min, pageSize.max), pageSize.default)
    .option('--cursor <cursor>', 'continue after the previous page', cursor)
    .addOption(addedByOption())
    .addOption(
      // A filter that is left out would look like one that matches.
      new Option('--malformed', 'read the whole table for items that are not valid animals').conflicts([
        'status',
        'cursor',
        'addedBy',
      ]),
    )
    .action(async (options) => {
      const session = await open(options);
      await (options.malformed ? listMalformed(session) : listPage(session, options));
    });

interface ListOptions {
  readonly limit: number;
  readonly status?: PetStatus;
  readonly cursor?: bigint;
  readonly addedBy?: string | undefined;
}

async function listPage(session: Session, options: ListOptions): Promise<void> {
  const { service, output } = session;
  const { pets, next, matches } = await (options.addedBy === undefined
    ? pageOfIndex(service, options)
    : pageOfAdded(service, options));
  const views = pets.map((pet) => viewOf(pet));
  const rows = views.map(({ id, status: state, categoryId, createdAt, name }) => [
    String(id),
    state,
    String(categoryId),
    createdAt ?? '-',
    name,
  ]);
  const text = rows[0]
    ? tableLines([['ID', 'STATUS', 'CATEGORY', 'CREATED', 'NAME'], ...rows])
    : 'No animals.';
  output.result({ pets: views, cursor: next ?? null }, text);
  noteUnknownOrigin(session, `Stage ${service.stage}`, options.addedBy, matches);
  if (next !== undefined && !output.json) output.note(`There are more: --cursor ${next}`);
}

async function pageOfIndex(
  { table: pets, notify }: PetService,
  { limit, status, cursor: before }: ListOptions,
) {
  const page = await listPets(pets, { limit, filter: status && byStatus(status), before });
  for (const { message } of page.malformed) notify(message);
  return { ...page, matches: page.pets.length };
}

/** A page like that of an index, but read from the whole table. `matches`: all animals of this origin, also those of other pages. */
async function pageOfAdded(service: PetService, { limit, status, cursor: before, addedBy }: ListOptions) {
  let newest: Pet[] = [];
  let matches = 0;
  for await (const page of validPagesOf(service, service.table, { malformed: 0 })) {
    const added = page.filter(({ item }) => isAddedBy(item, addedBy));
    matches += added.length;
    const wanted = added.flatMap(({ pet }) =>
      (status === undefined || pet.status === status) && (before === undefined || pet.id < before)
        ? [pet]
        : [],
    );
    newest = [...newest, ...wanted].toSorted((a, b) => (a.id < b.id ? 1 : -1)).slice(0, limit + 1);
  }
  const pets = newest.slice(0, limit);
  return { pets, matches, next: newest.length > limit ? pets.at(-1)!.id : undefined };
}

/** Items without a valid status are in no index, so only a scan finds them. */
async function listMalformed({ service: { table: pets }, output }: Session): Promise<void> {
  const found: { readonly id: string; readonly malformed: string }[] = [];
  for await (const page of pagesOf(pets))
    for (const { item, malformed } of page)
      if (malformed !== undefined) found.push({ id: idOf(item), malformed });
  const lines = found.map(({ id, malformed }) => `${id}: ${malformed}`);
  output.result({ malformed: found }, lines[0] ? lines : 'No malformed items.');
}

/** The ID of the last animal of the previous page. */
function cursor(text: string): bigint {
  const id = parseInt64(text);
  if (id !== undefined) return id;
  throw new InvalidArgumentError('Not a cursor printed by "list".');
}
