import { expect, test } from 'vitest';
import { newKey } from '../../../functions/access/keys.ts';
import { issue, resultOf } from './issued-keys.ts';
import { World } from '../world.ts';

test('identify names the owner and the status of a key, and says what is wrong with a text that is none', async () => {
  const world = new World({ isChecked: false });
  const { keyId, key } = await issue(world);
  const identify = (piped: string, options = '') => world.run(`keys identify ${options}`, { piped });
  expect(await identify(`  ${key}\n`)).toMatchObject({ exitCode: 0, stdout: `${keyId} of Ada, active\n` });
  expect(await resultOf(identify(`Bearer ${key}\n`, '--json'))).toEqual({
    keyId,
    owner: 'Ada',
    status: 'active',
  });
  for (const [text, exitCode, said] of [
    ['', 2, 'Standard input is empty. Paste the API key, or pipe it in.'],
    [`${key.slice(0, -1)}${key.endsWith('0') ? '1' : '0'}`, 2, 'its form or its checksum is wrong.'],
    [newKey('prod'), 2, 'The API key is one of stage prod. Use --stage prod.'],
    [newKey('local'), 3, 'Stage local never issued this API key.'],
  ] as const) {
    const run = await identify(text);
    expect([run.exitCode, run.stdout]).toEqual([exitCode, '']);
    expect(run.stderr).toContain(said);
  }
  const asked = await world.run('keys identify', { piped: key, typed: [] });
  expect(asked).toMatchObject({ exitCode: 0, stderr: 'Paste the API key, then press Enter and Ctrl-D.\n' });
});

test('identify gives the ID also while the table of rate limits fails, and says that it knows no suspension', async () => {
  const world = new World({ isChecked: false });
  const { keyId, key } = await issue(world);
  world.meets = ({ table }) => (table === 'RateLimits' ? 'denied' : 'answered');
  expect(await world.run('keys identify', { piped: key })).toMatchObject({
    exitCode: 0,
    stdout: `${keyId} of Ada, active\n`,
    stderr: expect.stringContaining('RateLimits cannot be read') as string,
  });
});
