import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { runVersions } from '../../../tools/versions/cli.ts';
import { runInProcess } from '../../support/tool-runs.ts';
import { Stage } from './stage.ts';

let stage: Stage;
let answer: string;

beforeEach(async () => {
  stage = new Stage();
  stage.create('create', 'list');
  const { url, close } = await stage.listen();
  vi.stubEnv('AWS_ENDPOINT_URL', url);
  vi.stubEnv('AWS_REGION', 'eu-central-1');
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'test');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'test');
  answer = '';
  return close;
});

afterEach(() => {
  vi.unstubAllEnvs();
});

const run = (...args: string[]) =>
  runInProcess(runVersions, args, { input: answer, interactive: answer !== '' });
const rollBack = (...args: string[]) => run('roll-back', '--stage', 'prod', '--yes', ...args);
const rollForward = () => run('roll-forward', '--stage', 'prod', '--yes');

describe('a roll back', () => {
  test('returns to what was live before the last deployment, for the functions that it changed', async () => {
    stage.deploy('create', 'list');
    stage.deploy('create');
    const { exitCode, stdout, stderr } = await rollBack();
    expect({ exitCode, live: stage.live() }).toEqual({ exitCode: 0, live: { create: 2, list: 2 } });
    expect(stderr).toBe('create: version 3 → 2\n');
    expect(stdout).toBe('Rolled back: create. Next: docs/runbook.md#after-a-roll-back.\n');
  });

  test('goes no further when it runs a second time', async () => {
    stage.deploy('create', 'list');
    stage.deploy('create', 'list');
    await rollBack();
    const { exitCode, stdout } = await rollBack();
    expect({ exitCode, live: stage.live() }).toEqual({ exitCode: 0, live: { create: 2, list: 2 } });
    expect(stdout).toContain('Give an earlier time with --before.');
  });

  test('passes over a version that its check refused', async () => {
    stage.deploy('create');
    stage.failToDeploy('create');
    stage.deploy('create');
    expect(stage.live()).toMatchObject({ create: 4 });
    await rollBack();
    expect(stage.live()).toMatchObject({ create: 2 });
  });

  test('passes over a version that was live until another function was refused', async () => {
    stage.deploy('create', 'list');
    stage.failToDeploy('create', 'list');
    stage.deploy('create', 'list');
    await rollBack();
    expect(stage.live()).toEqual({ create: 2, list: 2 });
  });

  test('passes over a version that was rolled back before', async () => {
    stage.deploy('create', 'list');
    stage.deploy('create', 'list');
    await rollBack();
    stage.deploy('create', 'list');
    await rollBack();
    expect(stage.live()).toEqual({ create: 2, list: 2 });
    stage.deploy('create', 'list');
    await rollBack();
    expect(stage.live()).toEqual({ create: 2, list: 2 });
  });

  test('is not confused by a deployment that changes no function', async () => {
    stage.deploy('create');
    stage.deploy('create');
    stage.deploy();
    await rollBack();
    expect(stage.live()).toMatchObject({ create: 2 });
    stage.deploy();
    await rollBack();
    expect(stage.live()).toMatchObject({ create: 2 });
  });

  test('returns to what was live, also where a fix left a function rolled back', async () => {
    stage.deploy('create', 'list');
    stage.deploy('create', 'list');
    await rollBack();
    // The fix of one function: CloudFormation leaves the other alias where it is.
    stage.deploy('create');
    expect(stage.live()).toEqual({ create: 4, list: 2 });
    stage.deploy('create', 'list');
    await rollBack();
    expect(stage.live()).toEqual({ create: 4, list: 2 });
  });

  test('undoes what a failed fix restored', async () => {
    stage.deploy('create');
    stage.deploy('create');
    await rollBack();
    stage.failToDeploy('create');
    expect(stage.live()).toMatchObject({ create: 3 });
    await rollBack();
    expect(stage.live()).toMatchObject({ create: 2 });
  });

  test('passes over a version that was rolled back and restored by a failed fix', async () => {
    stage.deploy('create');
    stage.deploy('create');
    await rollBack();
    stage.failToDeploy('create');
    stage.deploy('create');
    expect(stage.live()).toMatchObject({ create: 5 });
    await rollBack();
    expect(stage.live()).toMatchObject({ create: 2 });
  });

  test('passes over a version that was deleted', async () => {
    stage.deploy('create', 'list');
    stage.deploy('create', 'list');
    stage.deploy('create');
    stage.functions.get('create')!.deleted.add(3);
    await rollBack();
    expect(stage.live()).toEqual({ create: 2, list: 2 });
  });

  test('may return to a version that was rolled back and then deployed again', async () => {
    stage.deploy('create', 'list');
    stage.deploy('create', 'list');
    await rollBack();
    // The other function was good: the fix deploys its version again.
    stage.deployWithRevertDrift('create');
    expect(stage.live()).toEqual({ create: 4, list: 3 });
    stage.deploy('create', 'list');
    await rollBack();
    expect(stage.live()).toEqual({ create: 4, list: 3 });
  });

  test.each([1, 2, 3, 4])('that ended at change %i goes on when it is repeated', async (change) => {
    stage.deploy('create', 'list');
    stage.deploy('create', 'list');
    stage.failAt = change;
    expect((await rollBack()).exitCode).not.toBe(0);
    stage.failAt = Infinity;
    expect((await rollBack()).exitCode).toBe(0);
    expect(stage.live()).toEqual({ create: 2, list: 2 });
    stage.deploy('create', 'list');
    await rollBack();
    expect(stage.live()).toEqual({ create: 2, list: 2 });
  });

  test.each([1, 2, 3, 4])('is not stopped by a lost answer to change %i', async (change) => {
    stage.deploy('create', 'list');
    stage.deploy('create', 'list');
    stage.loseAnswerOf = change;
    expect(await rollBack()).toMatchObject({ exitCode: 0 });
    expect(stage.live()).toEqual({ create: 2, list: 2 });
  });

  test('returns to what was live at a given time', async () => {
    stage.deploy('create', 'list');
    const before = stage.deploy('create').toISOString();
    stage.deploy('create');
    const { exitCode, stdout } = await rollBack('--before', before, '--json');
    expect({ exitCode, live: stage.live() }).toEqual({ exitCode: 0, live: { create: 2, list: 2 } });
    expect(JSON.parse(stdout)).toEqual({
      before: `${before.slice(0, 19)}Z`,
      moved: [{ function: 'create', from: 4, to: 2 }],
    });
    // The state in between is not forgotten.
    stage.deploy('create');
    await rollBack();
    expect(stage.live()).toEqual({ create: 2, list: 2 });
  });

  test('goes to given versions, where CloudFormation has forgotten the earlier ones', async () => {
    stage.deploy('create', 'list');
    const forgotten = stage.events.length;
    stage.deploy('create');
    stage.events = stage.events.slice(0, -forgotten);
    const refused = await rollBack();
    expect(refused.exitCode).toBe(4);
    expect(refused.stderr).toContain('--to FUNCTION=VERSION');
    expect((await rollBack('--to', 'create=9')).stderr).toContain(
      'there is no version 9 of a function create',
    );
    expect(stage.live()).toEqual({ create: 3, list: 2 });
    expect((await rollBack('--to', 'create=1')).exitCode).toBe(0);
    expect(stage.live()).toEqual({ create: 1, list: 2 });
  });

  test('changes nothing in prod unless it is confirmed', async () => {
    stage.deploy('create');
    expect((await run('roll-back', '--stage', 'prod')).exitCode).toBe(4);
    answer = 'no\n';
    expect((await run('roll-back', '--stage', 'prod')).stderr).toContain('Nothing was changed.');
    expect(stage.changes).toEqual([]);
  });

  test.each([
    ['a stack that has only its first versions', [], 'has only its first versions'],
    ['a time before the stack', ['--before', '2029-01-01T00:00:00Z'], 'Choose from "list"'],
    ['a time without its zone', ['--before', '2030-01-02T00:00:00'], 'It must be a time with its zone'],
    ['a version without its function', ['--to', '2'], 'It must be FUNCTION=VERSION'],
  ])('refuses %s', async (_name, args, message) => {
    const { exitCode, stderr } = await rollBack(...args);
    expect(exitCode).not.toBe(0);
    expect(stderr).toContain(message);
    expect(stage.changes).toEqual([]);
  });

  test('refuses while a deployment is in progress, or was left halfway', async () => {
    stage.deploy('create');
    stage.functions.get('list')!.aliases.get('live')!.weights = { 3: 0.1 };
    const halfway = await rollBack();
    expect(halfway).toMatchObject({ exitCode: 4, stderr: expect.stringContaining('list divide requests') });
    stage.begin();
    const during = await rollBack();
    expect(during).toMatchObject({ exitCode: 4, stderr: expect.stringContaining('(UPDATE_IN_PROGRESS)') });
    expect(await rollForward()).toMatchObject({ exitCode: 4 });
    expect(stage.changes).toEqual([]);
  });
});

describe('a roll forward', () => {
  test('returns to the versions of the stack, and a second one changes nothing', async () => {
    stage.deploy('create', 'list');
    stage.deploy('create');
    await rollBack();
    const { exitCode, stdout, stderr } = await rollForward();
    expect({ exitCode, live: stage.live() }).toEqual({ exitCode: 0, live: { create: 3, list: 2 } });
    expect({ stdout, stderr }).toEqual({
      stdout: 'Rolled forward: create.\n',
      stderr: 'create: version 2 → 3\n',
    });
    expect((await rollForward()).stdout).toBe('Every function is at the version of the stack.\n');
    // It was not bad after all: the next roll back may return to it.
    stage.deploy('create');
    await rollBack();
    expect(stage.live()).toMatchObject({ create: 3 });
  });

  test('can be undone, again and again', async () => {
    stage.deploy('create');
    stage.deploy('create');
    for (let round = 0; round < 2; round += 1) {
      await rollBack();
      expect(stage.live()).toMatchObject({ create: 2 });
      await rollForward();
      expect(stage.live()).toMatchObject({ create: 3 });
    }
  });

  test.each([1, 2, 3, 4])('that ended at change %i goes on when it is repeated', async (change) => {
    stage.deploy('create', 'list');
    stage.deploy('create', 'list');
    await rollBack();
    stage.failAt = stage.changes.length + change;
    expect((await rollForward()).exitCode).not.toBe(0);
    stage.failAt = Infinity;
    expect((await rollForward()).exitCode).toBe(0);
    expect(stage.live()).toEqual({ create: 3, list: 3 });
    stage.deploy('create', 'list');
    await rollBack();
    expect(stage.live()).toEqual({ create: 3, list: 3 });
  });

  test.each([1, 2, 3, 4])('is not stopped by a lost answer to change %i', async (change) => {
    stage.deploy('create', 'list');
    await rollBack();
    stage.loseAnswerOf = stage.changes.length + change;
    expect(await rollForward()).toMatchObject({ exitCode: 0 });
    expect(stage.live()).toEqual({ create: 2, list: 2 });
  });
});

describe('list', () => {
  test('shows which versions are live, which ones the stack has, and that they differ', async () => {
    stage.deploy('create');
    expect((await run('list', '--stage', 'prod')).stdout).toBe(
      [
        'FUNCTION  VERSION  PUBLISHED',
        'create    2        2030-01-01T01:40:00Z  live, stack',
        '          1        2030-01-01T00:20:00Z',
        'list      1        2030-01-01T00:50:00Z  live, stack',
        '',
      ].join('\n'),
    );
    await rollBack();
    const { stdout, stderr } = await run('list', '--stage', 'prod');
    expect(stdout.split('\n').slice(1, 3)).toEqual([
      'create    2        2030-01-01T01:40:00Z  stack, rolled back',
      '          1        2030-01-01T00:20:00Z  live',
    ]);
    expect(stderr).toContain('What is live differs from the stack: create.');
    const json = await run('list', '--stage', 'prod', '--json');
    expect(JSON.parse(json.stdout)).toMatchObject({
      functions: [
        { function: 'create', live: 1, stack: 2, agree: false },
        { function: 'list', live: 1, stack: 1, agree: true },
      ],
    });
  });

  test('says that the local service has no versions', async () => {
    expect(await run('list', '--stage', 'local')).toMatchObject({ exitCode: 2 });
  });
});
