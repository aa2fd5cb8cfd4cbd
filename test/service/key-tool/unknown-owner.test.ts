import { expect, test } from 'vitest';
import { issue, leaveOver } from './issued-keys.ts';
import { World } from '../world.ts';

const note =
  'Stage local has no keys of the owner "ada". Check the spelling, capital letters included, and the stage.';

test.each([
  ['list', 'No keys.\n'],
  ['list --status active --plan free', 'No keys.\n'],
  ['repair', 'Valid keys: 0. Repaired: 0.\n'],
  ['repair --plan free --dry-run', 'Valid keys: 0. To repair: 0.\n'],
  ['cleanup', 'Nothing to clean up.\n'],
])('%s says that no key has the owner, exactly as it is written', async (command, stdout) => {
  const world = new World({ isChecked: false });
  const { keyId } = await issue(world, '--owner Ada --plan free');
  expect(await world.run(`keys ${command} --owner ada`)).toMatchObject({
    exitCode: 0,
    stdout,
    stderr: `${note}\n`,
  });
  const { stderr } = await world.run(`keys ${command} --owner ada --json`);
  expect(JSON.parse(stderr)).toEqual({ note });
  for (const options of ['', ' --owner Ada'])
    expect(await world.run(`keys ${command}${options}`)).toMatchObject({ exitCode: 0, stderr: '' });
  // Other filters can leave out all keys of an owner.
  await world.run(`keys revoke ${keyId}`);
  await world.run('keys cleanup --owner Ada');
  expect((await world.run(`keys ${command} --owner Ada`)).stderr).toBe('');
});

test('forget ends with 3 and says the same', async () => {
  const world = new World({ isChecked: false });
  await issue(world, '--owner Ada --plan free');
  expect(await world.run('keys forget --owner ada')).toMatchObject({ exitCode: 3, stderr: `${note}\n` });
});

test('cleanup finds the owner of a half-made key, which has no record', async () => {
  const world = new World({ isChecked: false });
  leaveOver(world, 'Ada');
  expect(await world.run('keys cleanup --owner Ada')).toMatchObject({
    stdout: 'Nothing to clean up.\n',
    stderr: '',
  });
});
