import { toJson } from '../../../../functions/http/exact-json.ts';
import { stageCommand } from '../../command-line/stage-command.ts';
import { ToolError } from '../../command-line/errors.ts';
import { counted, grouped } from '../../command-line/output.ts';
import type { Open } from '../pet-command.ts';
import { checkFile, linesOf, newestId, newFileIds, parseLine } from '../lines.ts';
import { writeNewFile } from '../new-file.ts';

export const assignIds = (open: Open) =>
  stageCommand(
    'assign-ids',
    'write a file in which every animal has an ID, for "import"',
    'new.jsonl animals.jsonl --stage prod',
    `A line is an animal: {"name":"Rex","categoryId":7,"status":"available"}. Animals without an "id" get one as if they
were created within the last hour, in the order of the lines. Another run gives other IDs.`,
  )
    .argument('<file>', 'file of JSON Lines')
    .argument('<new-file>', 'file to write')
    .action((file, newFile, options) =>
      open(options, async (session) => {
        const { service, output } = session;
        const newest = newestId(service);
        const { pets, withoutId } = await checkFile(session, file, newest);
        await writeNewFile(newFile, linesWithIds(file, newest, newFileIds(service, withoutId)));
        const result = { file: newFile, animals: pets, assigned: withoutId };
        output.result(
          result,
          `Wrote ${counted(pets, 'animal')} to ${newFile}, ${grouped(withoutId)} with a new ID.`,
        );
      }),
    );

async function* linesWithIds(
  file: string,
  newest: bigint,
  ids: ReturnType<typeof newFileIds>,
): AsyncGenerator<string> {
  for await (const line of linesOf(file)) {
    const pet = parseLine(line, newest);
    if (typeof pet === 'string') throw new ToolError('failed', `${file} was changed meanwhile.`);
    const { id = ids.next().value, ...rest } = pet;
    yield `${toJson({ id, ...rest })}\n`;
  }
}
