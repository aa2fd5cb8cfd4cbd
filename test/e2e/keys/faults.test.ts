import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, inject, test } from 'vitest';
import { forwardTo } from '../../support/forwarder.ts';
import { isLocal } from '../support.ts';
import {
  call,
  cleanUpLater,
  create,
  expectConsistent,
  keysIn,
  keysLocal,
  newOwner,
  openLocal,
  recordsOf,
} from './support.ts';

/** One fault of each kind, with the service and a process of the tool. test/unit/keys/faults.test.ts has them all. */

test.runIf(isLocal)('a process that is killed while it makes a key leaves no record', async () => {
  const owner = newOwner();
  const command = ['create', '--owner', owner, '--plan', 'free'];
  const port = new URL(inject('local')?.endpoint ?? '').port;
  const program = `
    import { runKeys } from './tools/operators/keys/cli.ts';
    const io = { stdin: process.stdin, stdout: process.stdout, stderr: process.stderr, interactive: false };
    const afterStep = (step) => { if (step === 'CreateUsagePlanKey') process.kill(process.pid, 'SIGKILL'); };
    await runKeys(${JSON.stringify([...command, '--stage', 'local', '--port', port])}, io, { afterStep });`;
  const killed = promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program], {
    cwd: join(import.meta.dirname, '..', '..', '..'),
  });
  await expect(killed).rejects.toMatchObject({ signal: 'SIGKILL' });
  const service = await openLocal();
  expect(await recordsOf(service, owner)).toEqual([]);

  const { stdout } = await keysLocal(command);
  expect(await cleanUpLater(owner)).toMatchObject([{ reason: 'half-made key' }]);
  expect(await expectConsistent(service, owner, keysIn(stdout))).toHaveLength(1);
});

test.runIf(isLocal)('a rotation whose answers are lost at first is made once', async () => {
  const owner = newOwner();
  const old = await create(owner);
  expect(await call(old.key)).toBe(200);
  const lost = new Set<string>();
  const { endpoint, credentials } = inject('local')!;
  const network = await forwardTo(endpoint, {
    losesAnswer: ({ method, url = '', headers }) => {
      const name = `${method} ${url.split('?')[0]} ${String(headers['x-amz-target'])}`;
      return lost.size < lost.add(name).size;
    },
  });
  const local = { endpoint: network.endpoint, credentials };
  const run = await keysLocal(['rotate', old.keyId, '--overlap', '0s'], { local });
  network.close();
  expect(run).toMatchObject({ exitCode: 0 });
  expect(lost.size).toBeGreaterThan(5);
  const revealed = [old.key, ...keysIn(run.stdout)];
  expect(await expectConsistent(await openLocal(), owner, revealed)).toHaveLength(1);
});
