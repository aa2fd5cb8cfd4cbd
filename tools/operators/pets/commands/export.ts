import { DescribeTableCommand, ResourceNotFoundException } from '@aws-sdk/client-dynamodb';
import type { PetTable } from '../../../../functions/pets/store.ts';
import { stageCommand } from '../../command-line/stage-command.ts';
import { ToolError, usageError } from '../../command-line/errors.ts';
import { counted } from '../../command-line/output.ts';
import { addedByOption, noteUnknownOrigin, type Open, type Session } from '../pet-command.ts';
import { isAddedBy, leftOutText, lineOf, validPagesOf } from '../items.ts';
import { writeNewFile } from '../files.ts';
import { scanProgress } from '../progress.ts';

export const exportPets = (open: Open) =>
  stageCommand(
    'export',
    'write all animals, or those that a key or an import added, to a file of JSON Lines',
    'animals.jsonl --stage prod',
    'Animals that are added or changed meanwhile may be in the file or not. Malformed items are reported and left out.',
  )
    .argument('<file>', 'file to write, or - for standard output')
    .option('--table <name>', 'another table of the account, such as a restored one')
    .addOption(addedByOption())
    .action(async (file, options) => {
      const session = await open(options);
      const { service, output } = session;
      const { client, tableName: own } = service.table;
      const { table: tableName = own } = options;
      const table = { client, tableName };
      if (tableName !== own) await expectPets(table);
      const counts = { exported: 0, malformed: 0 };
      const texts = linesOf(session, table, options.addedBy, counts);
      if (file === '-') {
        for await (const text of texts) await output.data(text);
      } else {
        await writeNewFile(file, texts);
        const text = `Exported ${counted(counts.exported, 'animal')} to ${file}.${leftOutText(counts)}`;
        output.result({ file, ...counts }, text);
      }
      const place = tableName === own ? `Stage ${service.stage}` : `Table ${tableName}`;
      noteUnknownOrigin(session, place, options.addedBy, counts.exported);
    });

/** @throws ToolError if the table does not exist, or is not one of animals */
async function expectPets({ client, tableName }: PetTable): Promise<void> {
  const { Table: table } = await client
    .send(new DescribeTableCommand({ TableName: tableName }))
    .catch((error: Error) => {
      const [notFound, invalid] = [ResourceNotFoundException.name, 'ValidationException'];
      if (error.name !== notFound && error.name !== invalid) throw error;
      const message = `Table ${tableName} does not exist in this account and Region.`;
      throw new ToolError('not_found', message, { cause: error });
    });
  const keys = (table?.KeySchema ?? []).map(({ AttributeName: name }) => name).join(', ');
  if (keys !== 'id') throw usageError(`Table ${tableName} has no animals: its key is ${keys}, not id.`);
}

/** The lines of a table, a page at a time. */
async function* linesOf(
  session: Session,
  table: PetTable,
  addedBy: string | undefined,
  counts: { exported: number; malformed: number },
): AsyncGenerator<string> {
  const report = await scanProgress(session, table, { did: '', name: 'exported' });
  let read = 0;
  for await (const page of validPagesOf(session.service, table, counts)) {
    if (counts.exported > 0) report(counts.exported, read);
    read += page.length;
    const wanted = page.filter(({ item }) => isAddedBy(item, addedBy));
    yield wanted.map(({ item, pet }) => `${lineOf(pet, item)}\n`).join('');
    counts.exported += wanted.length;
  }
}
