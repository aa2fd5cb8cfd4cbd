import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { planNames } from '../../../functions/access/plans.ts';
import { banner } from '../../../tools/contributors/local/banner.ts';
import type { Keys } from '../../../tools/contributors/local/keys.ts';

it('The lines of npm start set what curl and the client read', async () => {
  const text = banner({
    url: 'http://127.0.0.1:3000/v1',
    keys: Object.fromEntries(planNames.map((plan) => [plan, `key-of-${plan}`])) as Keys,
    reload: false,
    inspectorUrl: undefined,
  });
  const lines = [...text.matchAll(/^ +export .+$/gm)].join('\n');
  const names = ['API', 'KEY', 'ANIMAL_STORE_BASE_URL', 'ANIMAL_STORE_API_KEY'];
  const { stdout } = await promisify(execFile)('bash', [
    '--norc',
    '-euc',
    `${lines}\nprintenv ${names.join(' ')}`,
  ]);
  const [url, key] = ['http://127.0.0.1:3000/v1', 'key-of-pro'];
  expect(stdout).toBe(`${url}\n${key}\n${url}\n${key}\n`);
});
