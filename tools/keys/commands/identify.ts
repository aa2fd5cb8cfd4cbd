import { z } from 'zod';
import { hashOfKey, stageOfKey } from '../../../functions/access/keys.ts';
import { stageCommand } from '../command.ts';
import { KeyToolError } from '../errors.ts';
import { statusOf } from '../listing.ts';
import { readKey } from '../records.ts';
import { nowOf } from '../service.ts';
import { readUse } from '../use.ts';

export const identify = stageCommand({
  name: 'identify',
  summary: 'read an API key from standard input and print its ID',
  example: '--stage prod < leaked-key.txt',
  schema: z.object({}),
  run: async ({ service, output, input, stage }) => {
    const given = (await input()).trim().replace(/^Bearer +/i, '');
    if (given === '')
      throw new KeyToolError('usage', 'Standard input is empty. Paste the API key, or pipe it in.');
    const stageInKey = stageOfKey(given);
    if (stageInKey === undefined)
      throw new KeyToolError(
        'usage',
        'That is not an API key of this service: its form or its checksum is wrong.',
      );
    if (stageInKey !== stage)
      throw new KeyToolError(
        'usage',
        `That is an API key of stage ${stageInKey}. Use --stage ${stageInKey}.`,
      );
    const key = await readKey(service.keyTable, hashOfKey(given));
    if (key === undefined) throw new KeyToolError('not_found', `Stage ${stage} never issued that API key.`);
    const status = statusOf(key, await readUse(service.limitTable, key.keyHash), nowOf(service));
    output.result({ keyId: key.keyId, status, owner: key.owner }, `${key.keyId} of ${key.owner}, ${status}`);
  },
});
