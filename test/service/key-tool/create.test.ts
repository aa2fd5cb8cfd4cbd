import { describe, expect, test } from 'vitest';
import { hashOfKey, stageOfKey } from '../../../functions/access/keys.ts';
import {
  answer,
  didsOf,
  issue,
  type Issued,
  keysIn,
  recordOf,
  recordsOf,
  resultOf,
  timeText,
} from './issued-keys.ts';
import { ApiGatewayError } from '../../../tools/contributors/local/aws-services.ts';
import { World } from '../world.ts';

const create = 'keys create --owner Ada --plan free';

describe('create', () => {
  test('shows a key once, which is let in at once and stored as its hash only', async () => {
    const world = new World({ isChecked: false });
    const { stdout, stderr } = await world.run(`${create} --note for-the-shop`);
    const [key = ''] = keysIn(stdout);
    const [record] = recordsOf(world);
    const { keyId, gatewayKeyId } = record!;
    expect(stdout).toBe(
      `Key ID  ${keyId}\nPlan    free: 60 a minute, 1,000 a day\nKey     ${key}\nThe key is not shown again.\n`,
    );
    expect(stderr).toMatch(
      new RegExp(`^${timeText(world.now)}  \\S+@\\S+  ${keyId} in local: created free\n`),
    );
    expect(stderr).toMatch(
      /\nThe key is valid\. API Gateway can need minutes until it accepts it everywhere\.\n$/,
    );
    expect(record).toMatchObject({
      keyHash: hashOfKey(key),
      owner: 'Ada',
      plan: 'free',
      note: 'for-the-shop',
    });
    expect(record).toMatchObject({ status: 'active', createdAt: world.now });
    expect(JSON.stringify([record, world.apiKeys.keys()])).not.toContain(key);
    expect(world.apiKeys.keys()).toMatchObject([
      { id: gatewayKeyId, name: keyId, value: hashOfKey(key), description: 'AnimalStore-local, owner Ada' },
    ]);
    // Its ID is public, so it must not be the value.
    const { body } = world.runs[0]!.calls.find(({ operation }) => operation === 'POST /apikeys')!.input as {
      readonly body: string;
    };
    expect(JSON.parse(body)).toMatchObject({ generateDistinctId: true, enabled: true });
    expect(await answer(world, key)).toBe('admitted');
  });

  test('and rotate print the key and its limits as JSON, and their lines as JSON', async () => {
    const world = new World({ isChecked: false });
    const options = '--owner Ada --plan enterprise --per-minute 7 --per-day 7000';
    const created = await issue(world, options);
    const common = { stage: 'local', owner: 'Ada', plan: 'enterprise', perMinute: 7, perDay: 7_000 };
    expect(created).toEqual({ keyId: created.keyId, key: expect.any(String), ...common });
    const rotation = await world.run(`keys rotate ${created.keyId} --json`);
    const rotated = JSON.parse(rotation.stdout) as Issued;
    const { keyId, key } = rotated;
    expect(rotated).toEqual({ keyId, key, ...common, replaces: created.keyId, overlapSeconds: 86_400 });
    const [replaced] = rotation.stderr.split('\n').map((line) => JSON.parse(line || '{}') as object);
    const detail = `by ${keyId}, valid until ${timeText(world.now + 86_400)}`;
    const by = expect.stringMatching(/@/) as string;
    expect(replaced).toEqual({
      audit: { at: timeText(world.now), by, did: 'replaced', detail, keyId: created.keyId, stage: 'local' },
    });
    expect(recordOf(world, keyId).audit).toMatchObject([
      { detail: `enterprise (7 a minute, 7000 a day), in place of ${created.keyId}` },
    ]);
  });

  test('in prod asks nothing: the key names the stage, and its audit trail the ARN of who made it', async () => {
    const world = new World({ isChecked: false });
    const { key, keyId } = (await resultOf(world.run(`${create} --stage prod --json`))) as unknown as Issued;
    expect(stageOfKey(key)).toBe('prod');
    const by = expect.stringMatching(/^arn:aws:iam::\d{12}:user\//) as string;
    expect(recordOf(world, keyId).audit).toMatchObject([{ did: 'created', by }]);
  });

  test('that takes longer than cleanup waits makes no key valid, and shows none', async () => {
    const world = new World({ isChecked: false });
    world.meets = ({ operation }) => {
      if (operation === 'POST /apikeys') world.wait(660);
      return 'answered';
    };
    const { exitCode, stdout, stderr } = await world.run(create);
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toContain('API Gateway took over 10 minutes. Run the command again.');
    expect([recordsOf(world), world.apiKeys.keys()]).toEqual([[], []]);
  });

  test('goes on when API Gateway does not find the new key at first', async () => {
    const world = new World({ isChecked: false });
    const bind = world.apiKeys.bind.bind(world.apiKeys);
    let left = 4;
    world.apiKeys.bind = (planId, keyId) => {
      if ((left -= 1) >= 0)
        throw new ApiGatewayError('NotFoundException', 'Invalid API Key identifier specified');
      bind(planId, keyId);
    };
    expect(await answer(world, (await issue(world)).key)).toBe('admitted');
  });

  test('finds the key whose answer was lost, although API Gateway does not list it at first', async () => {
    const world = new World({ isChecked: false });
    const keys = world.apiKeys.keys.bind(world.apiKeys);
    let left = 2;
    world.apiKeys.keys = () => ((left -= 1) >= 0 ? [] : keys());
    world.meets = ({ operation }, number) =>
      operation === 'POST /apikeys' ? (number === 2 ? 'lostAfter' : 'failed') : 'answered';
    const { key } = await issue(world);
    world.meets = () => 'answered';
    expect(await answer(world, key)).toBe('admitted');
    expect(keys()).toHaveLength(1);
  });

  test('says that a key may be left over if it cannot find out, and that it is left over if it cannot delete it', async () => {
    const world = new World({ isChecked: false });
    world.meets = ({ operation }) => (operation === 'POST /apikeys' ? 'lostAfter' : 'answered');
    world.apiKeys.keys = () => [];
    const perhaps = await world.run(create);
    expect(perhaps).toMatchObject({ exitCode: 1, stdout: '' });
    expect(perhaps.stderr).toMatch(
      /Perhaps an API Gateway key of key_\w{16} is left over\. It lets nobody in: "cleanup" deletes it\.\n/,
    );
    world.meets = ({ operation }) => (/^POST .*\/keys|^DELETE/.test(operation) ? 'denied' : 'answered');
    const surely = await world.run(create);
    expect(surely).toMatchObject({ exitCode: 1, stdout: '' });
    expect(surely.stderr).toMatch(/^The API Gateway key of key_\w{16} is left over\. It lets nobody in/);
    world.meets = ({ operation }) => (operation === 'POST /apikeys' ? 'denied' : 'answered');
    expect((await world.run(create)).stderr).not.toContain('left over');
  });

  test('whose outcome is unknown leaves the API Gateway key, because its record may still be written', async () => {
    const world = new World({ isChecked: false });
    let isDenied = true;
    world.meets = ({ operation }) => {
      if (operation === 'TransactWriteItems') return 'lostBefore';
      if (operation !== 'GetItem' || !isDenied) return 'answered';
      isDenied = false;
      return 'denied';
    };
    const { exitCode, calls, stderr } = await world.run(create);
    expect(exitCode).toBe(5);
    expect(stderr).toContain('Outcome unknown');
    world.tables.call(
      'TransactWriteItems',
      calls.find(({ operation }) => operation === 'TransactWriteItems')!.input,
    );
    const [record] = recordsOf(world);
    expect(world.apiKeys.keys()).toMatchObject([{ id: record!.gatewayKeyId }]);
  });
});

describe('a key that cannot be written to standard output', () => {
  const closed = { failsToWrite: true };

  test('is revoked again', async () => {
    const world = new World({ isChecked: false });
    const { exitCode, stderr } = await world.run(create, closed);
    const [{ keyId, status } = { keyId: '', status: '' }] = recordsOf(world);
    expect([exitCode, status, didsOf(world, keyId)]).toEqual([1, 'revoked', ['created', 'revoked']]);
    expect(stderr).toContain(`could not be written to standard output (EPIPE). ${keyId} was revoked.`);
    expect(world.apiKeys.keys()).toEqual([]);
  });

  test('is named when it cannot be revoked', async () => {
    const world = new World({ isChecked: false });
    world.meets = ({ operation }) => (operation === 'GetItem' ? 'denied' : 'answered');
    const { exitCode, stderr } = await world.run(create, closed);
    expect(exitCode).toBe(5);
    const [{ keyId } = { keyId: '' }] = recordsOf(world);
    expect(stderr).toContain(`${keyId} is valid, but nobody has seen the key. Rotate or revoke it.`);
  });
});
