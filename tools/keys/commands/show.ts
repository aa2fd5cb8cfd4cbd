import { z } from 'zod';
import { keyCommand } from '../command.ts';
import { nowOf } from '../service.ts';
import { readUse } from '../use.ts';
import { showJson, showText } from '../views.ts';

export const show = keyCommand({
  name: 'show',
  summary: 'show a key: plan, use, suspension and audit trail',
  example: 'key_06fz1m4tqabcdefg --stage prod',
  schema: z.object({}),
  run: async ({ service, output }, key) => {
    const use = await readUse(service.limitTable, key.keyHash);
    const now = nowOf(service);
    output.result(showJson(key, use, now), showText(output, key, use, now));
  },
});
