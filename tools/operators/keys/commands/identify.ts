import { hashOfKey, stageOfKey } from '../../../../functions/access/keys.ts';
import { ToolError, usageError } from '../../command-line/errors.ts';
import { stageCommand } from '../../command-line/stage-command.ts';
import { type Open } from '../key-command.ts';
import { noUsage, readUsage } from '../key-usage.ts';
import { readKey } from '../records.ts';
import { statusOf } from '../views.ts';

export const identify = (open: Open) =>
  stageCommand(
    'identify',
    'read an API key from standard input and print its ID',
    '--stage prod < leaked-key.txt',
  ).action(async (options) => {
    const { service, output, input } = await open(options);
    const given = (await input('Paste the API key, then press Enter and Ctrl-D.'))
      .trim()
      .replace(/^Bearer +/i, '');
    const stage = stageOfKey(given);
    if (given === '') throw usageError('Standard input is empty. Paste the API key, or pipe it in.');
    if (stage === undefined)
      throw usageError('Standard input is not an API key: its form or its checksum is wrong.');
    if (stage !== options.stage)
      throw usageError(`The API key is one of stage ${stage}. Use --stage ${stage}.`);
    const key = await readKey(service, hashOfKey(given));
    if (key === undefined) throw new ToolError('not_found', `Stage ${stage} never issued this API key.`);
    const { keyId, owner } = key;
    // Whoever has found a key needs its ID to revoke it, also in an outage of this table.
    const usage = await readUsage(service.limitTable, key.keyHash).catch((error: unknown) => {
      const why = error instanceof Error ? error.name : 'no answer';
      output.note(`RateLimits cannot be read (${why}), so a suspension is not shown.`);
      return noUsage;
    });
    const status = statusOf(key, usage, service.now());
    output.result({ keyId, status, owner }, `${keyId} of ${owner}, ${status}`);
  });
