import { type FileHandle, open as openFile, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { NumberValue, ScanCommand } from '@aws-sdk/lib-dynamodb';
import { z } from 'zod';
import { toJson } from '../../../functions/http/exact-json.ts';
import type { PetTable } from '../../../functions/pets/store.ts';
import { stageCommand } from '../../command-line/command.ts';
import { ToolError } from '../../command-line/errors.ts';
import { counted, printable } from '../../command-line/output.ts';
import type { Open, Session } from '../command.ts';
import { idOf, toStored } from '../items.ts';
import { lockFile } from '../lock.ts';
import { readProgress, writeProgress } from '../progress.ts';
import { identityOf } from '../table.ts';

export const exportPets = (open: Open) =>
  stageCommand(
    'export',
    'write all animals to a file of JSON Lines',
    'animals.jsonl --stage prod',
    `Animals that are added or changed meanwhile may be in the file or not. Malformed items are reported and left out. If
the export stops, the same command continues it.`,
  )
    .argument('<file>', 'file to write, or - for standard output')
    .option('--table <name>', 'another table of the account, such as a restored one')
    .action((file, options) =>
      open(options, async (session) => {
        const { client, tableName: own } = session.service.table;
        const table = { client, tableName: options.table ?? own };
        const identity = await identityOf(table);
        if (file === '-') return exportToOutput(session, table);
        // A folder that does not exist is named by this call.
        const unlock = await lockFile(
          join(await realpath(dirname(file)), basename(file)),
          `export to ${file}`,
        );
        try {
          await exportToFile(session, { table, identity }, file);
        } finally {
          unlock();
        }
        return undefined;
      }),
    );

/** Items in one call: about 100 KB, which leaves capacity of their partition to the service. */
const pageSize = 1_000;

interface Page {
  readonly text: string;
  readonly exported: number;
  readonly malformed: number;
  /** The ID after which the next page begins. */
  readonly last: string | undefined;
}

async function* pagesOf(
  { service }: Session,
  { client, tableName }: PetTable,
  after: string | undefined,
): AsyncGenerator<Page> {
  let last = after;
  do {
    const start = last === undefined ? undefined : { id: NumberValue.from(last) };
    const scan = new ScanCommand({ TableName: tableName, Limit: pageSize, ExclusiveStartKey: start });
    const { Items: items = [], LastEvaluatedKey: key } = await client.send(scan);
    last = key && idOf(key);
    const stored = items.map(toStored);
    for (const { item, malformed } of stored)
      if (malformed !== undefined) service.notify(`${idOf(item)} is malformed: ${printable(malformed)}`);
    const lines = stored.flatMap(({ pet }) => (pet ? [`${toJson(pet)}\n`] : []));
    yield {
      text: lines.join(''),
      exported: lines.length,
      malformed: items.length - lines.length,
      last,
    };
  } while (last !== undefined);
}

async function exportToOutput(session: Session, table: PetTable): Promise<void> {
  for await (const { text } of pagesOf(session, table, undefined)) await session.output.data(text);
}

const progressSchema = z.object({
  /** The identity of the table. */
  table: z.string(),
  last: z.string(),
  bytes: z.int(),
  exported: z.int(),
  malformed: z.int(),
});

/** Writes to a file beside the wanted one, which gets its name when it is complete. */
async function exportToFile(
  session: Session,
  { table, identity }: { readonly table: PetTable; readonly identity: string },
  file: string,
): Promise<void> {
  const { output } = session;
  const [part, path] = [`${file}.part`, `${file}.progress`];
  if (await exists(file))
    throw new ToolError('refused', `${file} exists. Remove it, or choose another name.`);
  const earlier = (await exists(part)) ? await readProgress(path, progressSchema) : undefined;
  if (earlier !== undefined && earlier.table !== identity)
    throw new ToolError('refused', `${part} is of table ${earlier.table}. Choose another name.`);
  let { exported, malformed, bytes } = earlier ?? { exported: 0, malformed: 0, bytes: 0 };
  const handle: FileHandle = await openFile(part, 'a');
  try {
    // What was written after the last progress is read again.
    await handle.truncate(bytes);
    for await (const page of pagesOf(session, table, earlier?.last)) {
      // Unlike `write`, it fails when the disk is full after a part of the text.
      await handle.appendFile(page.text);
      bytes += Buffer.byteLength(page.text);
      exported += page.exported;
      malformed += page.malformed;
      const { last } = page;
      if (last === undefined) break;
      await writeProgress(path, { table: identity, last, bytes, exported, malformed });
      await session.service.afterStep('page');
      output.report({ progress: { exported } }, counted(exported, 'animal'));
    }
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(part, file);
  await rm(path, { force: true });
  const left = malformed === 0 ? '' : ` Left out: ${counted(malformed, 'malformed item')}.`;
  output.result({ file, exported, malformed }, `Exported ${counted(exported, 'animal')} to ${file}.${left}`);
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined;
}
