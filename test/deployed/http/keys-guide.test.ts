import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { serve } from '../../../tools/contributors/local/serve.ts';
import { localStage } from '../../../tools/contributors/local/stack.ts';
import { announceAddress, type LocalAddress } from '../../../tools/operators/command-line/local-address.ts';
import { runKeys } from '../../../tools/operators/keys/cli.ts';
import { Client } from '../../../tools/operators/smoke/client.ts';
import { runInProcess } from '../../support/run-in-process.ts';
import { isLocal } from './support.ts';

/** Procedures of docs/keys.md, pasted from the page, on a service of their own, because one of them ends all keys. */

const page = await readFile('docs/keys.md', 'utf8');
const installed = spawnSync('jq', ['--version']).status === 0;
if (!installed)
  console.warn('The procedures of docs/keys.md do not run, because jq is missing. CI runs them.');

/** The blocks of a section, for the local stage. */
function blocksOf(heading: string): string[] {
  const [, section = ''] = new RegExp(String.raw`^## ${heading}$([^]*?)^## `, 'm').exec(page) ?? [];
  return [...section.matchAll(/^( *)```sh\n([^]*?)^ *```$/gm)].map(([, indent = '', code = '']) =>
    code
      .replaceAll(new RegExp(`^${indent}`, 'gm'), '')
      .replaceAll('--stage prod', '--stage local')
      .replaceAll('STAGE=prod', 'STAGE=local'),
  );
}

interface Issued {
  readonly keyId: string;
  readonly key: string;
}

type Service = Awaited<ReturnType<typeof serve>>;
let service: Service;
let local: LocalAddress;
let home: string;

beforeAll(async () => {
  if (!isLocal) return;
  home = await mkdtemp(join(tmpdir(), 'keys-guide-'));
  service = await serve({ port: 0, assembly: inject('local')!.assembly });
  local = { endpoint: service.endpoint, credentials: service.credentials };
  // The commands of the page find the service by its port, which `paste` adds.
  announceAddress(local, 0);
});

afterAll(async () => {
  if (!isLocal) return;
  await service.stop();
  await rm(home, { recursive: true });
});

/** Pastes a block in a new terminal. */
async function paste(block: string, { input = '' } = {}): Promise<string> {
  const port = new URL(local.endpoint).port;
  // This runs the script as npm would, which takes a second longer each time. docs.test.ts checks the names of scripts.
  const npm = `npm() { while [ "$1" != -- ]; do tool=$1; shift; done; shift; node tools/run.mjs "$tool" "$@" --port ${port}; }`;
  const script = `${npm}\n${block}`;
  const running = promisify(execFile)('bash', ['--norc', '-c', script], {
    env: { ...process.env, HOME: home },
  });
  running.child.stdin!.end(input);
  const { stdout } = await running;
  return stdout;
}

async function keys<T>(...args: readonly string[]): Promise<T> {
  const run = await runInProcess(runKeys, [...args, '--stage', localStage, '--json'], { local });
  expect(run).toMatchObject({ exitCode: 0 });
  return JSON.parse(run.stdout) as T;
}
const create = (owner: string) => keys<Issued>('create', '--owner', owner, '--plan', 'free');
const rotate = (keyId: string, overlap: string) => keys<Issued>('rotate', keyId, '--overlap', overlap);
const call = async ({ key }: Issued) =>
  (await new Client(service.url, key).send({ path: '/pets?limit=1' })).status;
const callAll = async (issued: readonly Issued[]) => {
  const statuses: number[] = [];
  for (const each of issued) statuses.push(await call(each));
  return statuses;
};
const all = (issued: readonly Issued[], status: number) => issued.map(() => status);

describe.runIf(isLocal && installed)('docs/keys.md', () => {
  it('stops a leaked key at once, and reads its counts before they go', async () => {
    const [
      identify = '',
      suspend = '',
      usage = '',
      show = '',
      atOnce = '',
      staying = '',
      _resume,
      revoke = '',
      added = '',
      ...rest
    ] = blocksOf('Respond to a leaked key');
    expect(rest).toEqual([]);
    for (const isOffline of [true, false]) {
      const leaked = await create(`leaked ${isOffline}`);
      const { text } = await new Client(service.url, leaked.key).post('{"name":"Rex","categoryId":7}');
      const found = await paste(identify, { input: leaked.key });
      const [keyId = 'none'] = /key_\w{16}/.exec(found) ?? [];
      expect(keyId).toBe(leaked.keyId);
      const of = (block: string) => block.replaceAll('key_06fz1m4tqabcdefg', keyId);
      await paste(of(suspend));
      expect(await call(leaked)).toBe(429);
      expect(await paste(of(usage))).toMatch(/^\d{4}-\d\d-\d\d +2$/m);
      expect(await paste(of(show))).toMatch(/^replaced by +-$/m);
      const [key = ''] = /as_local_\w+/.exec(await paste(of(isOffline ? atOnce : staying))) ?? [];
      expect(await callAll([leaked, { keyId, key }])).toEqual([isOffline ? 401 : 200, 200]);
      if (!isOffline) await paste(of(revoke));
      expect(await callAll([leaked, { keyId, key }])).toEqual([401, 200]);
      const file = join(home, `${keyId}.jsonl`);
      await paste(of(added).replace('leaked.jsonl', file));
      expect(
        (await readFile(file, 'utf8'))
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line)),
      ).toEqual([{ ...(JSON.parse(text) as object), addedBy: keyId }]);
    }
  });

  it.each([true, false])(
    'stops a leaked key that was replaced before, and leaves alone the key that has replaced it (offline: %s)',
    async (isOffline) => {
      const [, suspend = '', , show = '', , staying = '', resume = '', revoke = ''] =
        blocksOf('Respond to a leaked key');
      const leaked = await create('leaked and replaced');
      const next = await rotate(leaked.keyId, '7d');
      const of = (block: string) => block.replaceAll('key_06fz1m4tqabcdefg', leaked.keyId);
      await paste(of(suspend));
      expect(await paste(of(show))).toMatch(new RegExp(`^replaced by +${next.keyId}$`, 'm'));
      if (!isOffline) {
        await expect(paste(of(staying))).rejects.toThrow(`was replaced by ${next.keyId}`);
        await paste(of(resume));
        expect(await callAll([leaked, next])).toEqual([200, 200]);
      }
      await paste(of(revoke));
      expect(await callAll([leaked, next])).toEqual([401, 200]);
    },
  );

  it('replaces all keys: none works that it has not issued, whatever was rotated before', async () => {
    const [list = '', rotateAll = '', store = '', countNew = '', revoke = '', ...rest] =
      blocksOf('Replace all keys');
    expect(rest).toEqual([]);
    const run = (block: string) => paste(`{ ${list}} >/dev/null\n${block}`);
    const replacedBefore = await create('replaced before');
    const suspended = await create('suspended');
    const suspendedForNow = await create('suspended for now');
    const soonResumed = await create('soon resumed');
    const smoke = await create('smoke-test');
    const orphan = await create('replacement revoked');
    const revoked = await rotate(orphan.keyId, '30d');
    await keys('revoke', revoked.keyId);
    const leakedOnTheWay = await create('new key leaked on the way');
    const replacedAtOnce = await create('replaced at once');
    const old = [
      orphan,
      leakedOnTheWay,
      replacedAtOnce,
      await create('plain'),
      replacedBefore,
      await rotate(replacedBefore.keyId, '30d'),
      suspended,
      suspendedForNow,
      soonResumed,
      smoke,
    ];
    for (const { keyId } of [suspended, suspendedForNow, soonResumed]) await keys('suspend', keyId);
    const listed = await paste(list);
    for (const { keyId } of old) expect(listed).toContain(keyId);
    expect(listed).toMatch(/^ *0\n$/m);

    old.push(await create('issued after the list'));
    await run(rotateAll.replace('$(due)', replacedAtOnce.keyId).replace('--overlap 7d', '--overlap 0s'));
    const replacementOf = async ({ keyId }: Issued) =>
      (await keys<{ replacedBy: string }>('show', keyId)).replacedBy;
    const revokedOnTheWay = [await replacementOf(replacedAtOnce)];
    await keys('revoke', revokedOnTheWay[0]!);
    await run(rotateAll);
    old.push(await create('issued after the rotation'));
    expect(await run(store)).toContain(old.at(-1)!.keyId);
    await run(rotateAll);
    expect(await run(store)).not.toContain('key_');
    // A list that fails must not look like one without keys.
    await expect(run(`npm() { echo 'No credentials.' >&2; return 1; }\n${store}`)).rejects.toThrow(
      'No credentials.',
    );
    const orphans = async () => (await run('orphans')).trim().split('\n').toSorted();
    const withoutReplacement = [
      `${orphan.keyId}\treplacement revoked\tfree\t${revoked.keyId}`,
      `${replacedAtOnce.keyId}\treplaced at once\tfree\t${revokedOnTheWay[0]}`,
    ];
    expect(await orphans()).toEqual(withoutReplacement.toSorted());
    await keys('resume', soonResumed.keyId);
    const [, beforeTheEnd = ''] = /Run `(due \| grep .+?)`/.exec(page) ?? [];
    expect((await run(beforeTheEnd)).trim()).toBe(soonResumed.keyId);
    await run(rotateAll.replace('$(due)', soonResumed.keyId));
    const replacement = await replacementOf(leakedOnTheWay);
    await keys('revoke', replacement);
    revokedOnTheWay.push(replacement);
    expect(await orphans()).toEqual(
      [
        ...withoutReplacement,
        `${leakedOnTheWay.keyId}\tnew key leaked on the way\tfree\t${replacement}`,
      ].toSorted(),
    );
    const later = [await create('smoke-test'), await create('issued later')];
    await run(rotateAll.replace('$(due)', suspendedForNow.keyId));
    const counts = async (block: string) => (await run(block)).match(/\d+/g)?.map(Number);
    const [there = 0, inFile] = (await counts(countNew)) ?? [];
    expect([there > 0, inFile]).toEqual([true, there]);
    // A stage that has issued none of the keys in the file.
    const foreign = `mkdir ~/foreign; HOME=~/foreign; echo '{"keyId":"key_06fz1m4tqabcdefg"}' >~/new-keys.json`;
    expect(await counts(`${foreign}\n${countNew}`)).toEqual([0, 1]);
    await run(revoke);
    expect((await run(revoke)).trim().split('\n').at(-1)).toMatch(/^ *0$/);

    const printed = await paste(`jq -c . ~/new-keys.json`);
    const issued = printed
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Issued & { owner: string })
      .filter(({ keyId }) => !revokedOnTheWay.includes(keyId));
    expect(await callAll(old)).toEqual(all(old, 401));
    expect(issued.map(({ owner }) => owner)).toEqual(
      expect.arrayContaining([
        'plain',
        'replaced before',
        'suspended for now',
        'soon resumed',
        'issued after the rotation',
      ]),
    );
    expect(await callAll([...issued, ...later])).toEqual(all([...issued, ...later], 200));
  });
});
