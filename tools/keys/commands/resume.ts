import { z } from 'zod';
import { keyCommand } from '../command.ts';
import { changeKey } from '../records.ts';
import { newLine, nowOf, reportLine } from '../service.ts';
import { readUse, resumeUse } from '../use.ts';

export const resume = keyCommand({
  name: 'resume',
  summary: 'lift the suspension of a key, automatic ones included',
  example: 'key_06fz1m4tqabcdefg --stage prod',
  schema: z.object({}),
  refusal: 'resumed',
  run: async ({ service, output }, key) => {
    const now = nowOf(service);
    const { suspendedUntil } = await readUse(service.limitTable, key.keyHash);
    const changed = suspendedUntil > now;
    if (changed) {
      const line = await newLine(service, 'resumed');
      await changeKey(service.keyTable, key, { line });
      reportLine(service, key, line);
      await service.afterStep('record');
      await resumeUse(service.limitTable, key.keyHash, now);
      await service.afterStep('limiter');
    }
    output.result(
      { keyId: key.keyId, changed },
      changed ? `${key.keyId} is resumed.` : `${key.keyId} is not suspended.`,
    );
  },
});
