import { Option } from 'commander';
import { z } from 'zod';
import { keyCommand } from '../command.ts';
import { isoTime, untilTime } from '../format.ts';
import { duration } from '../options.ts';
import { changeKey } from '../records.ts';
import { newLine, nowOf, reportLine } from '../service.ts';
import { indefinitely, suspendUse } from '../use.ts';

export const suspend = keyCommand({
  name: 'suspend',
  summary: 'answer the requests of a key with 429 for a while, or until it is resumed',
  example: 'key_06fz1m4tqabcdefg --stage prod --for 24h',
  options: [
    new Option('--for <duration>', 'how long: 15m, 24h, 7d (default: until it is resumed)').argParser(
      duration(1),
    ),
  ],
  schema: z.object({ for: z.number().optional() }),
  refusal: 'suspended',
  question: ({ keyId, owner, plan }, stage) => `Suspend ${keyId} (${owner}, ${plan}) in ${stage}?`,
  run: async ({ service, output }, key, { for: seconds }) => {
    const until = seconds === undefined ? indefinitely : nowOf(service) + seconds;
    const line = await newLine(service, 'suspended', untilTime(until));
    await changeKey(service.keyTable, key, { line });
    reportLine(service, key, line);
    await service.afterStep('record');
    await suspendUse(service.limitTable, key.keyHash, until);
    await service.afterStep('limiter');
    output.result(
      { keyId: key.keyId, changed: true, suspendedUntil: isoTime(until) },
      `${key.keyId} is suspended ${untilTime(until)}.`,
    );
  },
});
