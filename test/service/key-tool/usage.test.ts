import { describe, expect, test } from 'vitest';
import { issue, recordOf, resultOf } from './issued-keys.ts';
import { World } from '../world.ts';

describe('usage', () => {
  test('has the requests of each day, today included, of the days that are asked for', async () => {
    const world = new World({ isChecked: false });
    const { keyId, key } = await issue(world);
    await world.sendAll(3, key);
    world.wait(86_400);
    await world.send(key);
    const days = [
      { date: '2026-06-30', requests: 0 },
      { date: '2026-07-01', requests: 3 },
      { date: '2026-07-02', requests: 1 },
    ];
    const usage = (options: string) => world.run(`keys usage ${keyId} ${options}`);
    expect(await resultOf(usage('--days 3 --json'))).toEqual({ keyId, days });
    expect((await resultOf(usage('--json')))['days']).toHaveLength(7);
    expect((await usage('--days 2')).stdout).toBe('DAY (UTC)   REQUESTS\n2026-07-01  3\n2026-07-02  1\n');
  });

  test('says if API Gateway has no counts', async () => {
    const world = new World({ isChecked: false });
    const { keyId } = await issue(world);
    const { gatewayKeyId } = recordOf(world, keyId);
    const none = { exitCode: 0, stdout: `API Gateway has no counts for ${keyId}.\n` };
    world.apiKeys.unbind('free', gatewayKeyId);
    expect(await world.run(`keys usage ${keyId}`)).toMatchObject(none);
    world.meets = ({ operation }) => (operation.endsWith('/usage') ? 'denied' : 'answered');
    expect(await world.run(`keys usage ${keyId}`)).toMatchObject({ exitCode: 1, stdout: '' });
    world.meets = () => 'answered';
    world.apiKeys.plans = world.apiKeys.plans.filter(({ id }) => id !== 'free');
    expect(await world.run(`keys usage ${keyId}`)).toMatchObject(none);
  });
});
