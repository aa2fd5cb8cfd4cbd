import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { json } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { lastReleaseOf } from '../integration/upgrade/last-release.ts';
import { isFullRun } from '../support/rounds.ts';
import { bash, jobOf, scriptOf, workflows } from '../support/workflows.ts';

/**
 * The lines of the release workflows, run with npm and git, a registry on this machine, and a stand-in for `gh`. npm takes
 * seconds, so most of them run only in full.
 */

const execute = promisify(execFile);
const name = 'animal-store-client';

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'release-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

const runScript = (script: string, cwd: string, env: NodeJS.ProcessEnv) =>
  execute(bash[0], [...bash.slice(1), script], { cwd, env });

/** What npm sends to publish a version. */
const publication = z.object({
  versions: z.record(z.string(), z.looseObject({ dist: z.looseObject({}) })),
  _attachments: z.record(z.string(), z.object({ data: z.string() })),
});

/**
 * A registry of npm that has trusted publishers, and GitHub's issuer of tokens: it takes a version once, and only with the
 * token that it gives for one of GitHub's.
 */
async function startRegistry() {
  const versions = new Map<string, unknown>();
  const tarballs = new Map<string, Buffer>();
  let answersAreLost = false;
  const handle = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const { method, url = '', headers } = incoming;
    const answer = (status: number, body: object) => outgoing.writeHead(status).end(JSON.stringify(body));
    // No provenance: it is signed by services on the internet.
    const claims = Buffer.from(JSON.stringify({ repository_visibility: 'private' })).toString('base64url');
    if (url.startsWith('/id-token?')) answer(200, { value: `e30.${claims}.x` });
    else if (url === `/-/npm/v1/oidc/token/exchange/package/${name}`)
      answer(headers.authorization === `Bearer e30.${claims}.x` ? 201 : 401, { token: 'of-npm' });
    else if (method === 'GET' && url === `/${name}`) {
      if (versions.size === 0) answer(404, { error: 'Not found' });
      else answer(200, { name, versions: Object.fromEntries(versions), 'dist-tags': {} });
    } else if (method === 'GET' && tarballs.has(url)) outgoing.end(tarballs.get(url));
    else if (method === 'PUT' && url === `/${name}`) {
      const body = publication.parse(await json(incoming));
      const [version, manifest] = Object.entries(body.versions)[0]!;
      const { data } = Object.values(body._attachments)[0]!;
      if (headers.authorization !== 'Bearer of-npm') return void answer(401, {});
      if (versions.has(version)) return void answer(403, { error: 'You cannot publish over it.' });
      const path = `/${name}/-/${name}-${version}.tgz`;
      tarballs.set(path, Buffer.from(data, 'base64'));
      versions.set(version, { ...manifest, dist: { ...manifest.dist, tarball: `${endpoint}${path}` } });
      if (answersAreLost) outgoing.destroy();
      else answer(201, { ok: true });
    } else answer(404, {});
  };
  const server = createServer((incoming, outgoing) => void handle(incoming, outgoing));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    endpoint,
    versions,
    tarballs,
    loseAnswers: (value: boolean) => void (answersAreLost = value),
  };
}

/** The parts of `gh release` that the workflows use. Releases are files: the first line says whether it is a draft. */
const gh = `#!/bin/bash
set -e
[ "$1" = release ]
file="$GH_RELEASES/$3"
case $2 in
  view) [ -f "$file" ] || { echo 'release not found' >&2; exit 1; }; head -n 1 "$file" ;;
  delete) rm "$file" ;;
  create)
    [ ! -f "$file" ] || { echo "a release with the same tag name already exists: $3" >&2; exit 1; }
    echo true > "$file"
    [ -z "$GH_FAILS" ] || { echo 'HTTP 502' >&2; exit 1; }
    { echo false; shift 3; printf '%s\\n' "$@"; } > "$file" ;;
esac
`;

/** A runner of GitHub Actions after the build's files were downloaded. */
async function newRunner(endpoint: string, tag: string) {
  const home = await temporaryFolder();
  const releases = join(home, 'releases');
  await mkdir(releases);
  await writeFile(join(home, 'gh'), gh, { mode: 0o755 });
  const env = {
    PATH: `${home}${delimiter}${process.env['PATH']}`,
    HOME: home,
    npm_config_registry: endpoint,
    npm_config_fetch_retries: '0',
    npm_config_update_notifier: 'false',
    GITHUB_ACTIONS: 'true',
    ACTIONS_ID_TOKEN_REQUEST_URL: `${endpoint}/id-token?v=1`,
    ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'of-github',
    GH_RELEASES: releases,
    TAG: tag,
  };
  /** A run of the job that publishes: on a fresh machine, with the files of the job that builds. */
  const publish = async (
    { content, file = 'publish.yml' }: { readonly content: string; readonly file?: string },
    more: NodeJS.ProcessEnv = {},
  ) => {
    const folder = await temporaryFolder();
    await mkdir(join(folder, 'release'));
    await writeFile(join(folder, 'notes.md'), 'Notes.\n');
    if (file === 'release.yml') await writeFile(join(folder, 'release', 'templates.zip'), content);
    else {
      const version = tag.slice(tag.lastIndexOf('v') + 1);
      await writeFile(join(folder, 'package.json'), JSON.stringify({ name, version, description: content }));
      await execute('npm', ['pack', '--pack-destination', 'release'], { cwd: folder, env });
      await rm(join(folder, 'package.json'));
    }
    for (const { run } of jobOf(file, 'publish').steps)
      if (run !== undefined) await runScript(run, folder, { ...env, ...more });
  };
  const release = () => readFile(join(releases, tag), 'utf8').catch(() => undefined);
  return { env, publish, release };
}

describe('A release of a package', () => {
  const tag = 'client-v1.0.0';
  const complete = expect.stringMatching(
    /^false\n.*notes\.md\n\.\/release\/animal-store-client-1\.0\.0\.tgz\n$/s,
  );

  it('is published to npm with a token of the workflow, then on GitHub', async () => {
    const { endpoint, versions } = await startRegistry();
    const { publish, release } = await newRunner(endpoint, tag);
    await publish({ content: 'first' });
    expect([...versions.keys()]).toEqual(['1.0.0']);
    expect(await release()).toEqual(complete);
  });

  it.runIf(isFullRun)(
    'goes on when it is run again, wherever it stopped, and changes nothing when it is complete',
    async () => {
      const { endpoint, versions, tarballs, loseAnswers } = await startRegistry();
      const { publish, release } = await newRunner(endpoint, tag);
      loseAnswers(true);
      await expect(publish({ content: 'first' })).rejects.toThrow();
      expect([versions.size, await release()]).toEqual([1, undefined]);
      const [stored] = tarballs.values();
      loseAnswers(false);
      await expect(publish({ content: 'first' }, { GH_FAILS: '1' })).rejects.toThrow('HTTP 502');
      expect(await release()).toBe('true\n');
      await publish({ content: 'first' });
      expect(await release()).toEqual(complete);
      await publish({ content: 'first' });
      expect([versions.size, await release(), [...tarballs.values()]]).toEqual([1, complete, [stored]]);
    },
  );

  it.runIf(isFullRun)('stops if npm has the version with another content', async () => {
    const { endpoint } = await startRegistry();
    const { publish, release } = await newRunner(endpoint, tag);
    await publish({ content: 'first' });
    await expect(publish({ content: 'second' })).rejects.toThrow(
      'npm has another animal-store-client@1.0.0 than this tag. Set a new version, and tag it.',
    );
    expect(await release()).toEqual(complete);
  });

  it.runIf(isFullRun)(
    'does not meet the first publication by hand, which has a version of its own',
    async () => {
      const { endpoint, versions } = await startRegistry();
      const { env, publish } = await newRunner(endpoint, tag);
      const guide = await readFile('CONTRIBUTING.md', 'utf8');
      const [, script = ''] = /^ +cd packages\/client\/dist\n([^`]+)/m.exec(guide) ?? [];
      const folder = await temporaryFolder();
      await writeFile(join(folder, 'package.json'), JSON.stringify({ name, version: '1.0.0' }));
      await runScript(script, folder, env);
      await publish({ content: 'by the tag' });
      expect([...versions.keys()]).toEqual(['0.0.0', '1.0.0']);
    },
  );
});

it('A release of the service goes on when it is run again', async () => {
  const { publish, release } = await newRunner('http://127.0.0.1:9', 'v1.0.0');
  await expect(publish({ content: '', file: 'release.yml' }, { GH_FAILS: '1' })).rejects.toThrow('HTTP 502');
  for (let run = 0; run < 2; run += 1) {
    await publish({ content: '', file: 'release.yml' });
    expect(await release()).toMatch(/^false\n.*\.\/release\/.+\n$/s);
  }
});

/** A repository with commits, as `actions/checkout` leaves it: `origin/main`, and HEAD at the tag. */
async function newRepository() {
  const folder = await temporaryFolder();
  const author = ['-c', 'user.name=a', '-c', 'user.email=a@example.com', '-c', 'commit.gpgSign=false'];
  const git = async (...args: string[]) =>
    (await execute('git', [...author, ...args], { cwd: folder })).stdout.trim();
  await git('init', '--quiet', '--initial-branch', 'main');
  const commit = (subject: string) => git('commit', '--quiet', '--allow-empty', '--message', subject);
  return { folder, git, commit };
}

describe.each(['release.yml', 'publish.yml'])('%s', (file) => {
  it('refuses a tag that is not on main, before anything else', async () => {
    const { folder, git, commit } = await newRepository();
    await commit('first');
    await git('tag', '-a', 'v1.0.0', '-m', 'v1.0.0');
    await commit('second');
    await git('update-ref', 'refs/remotes/origin/main', 'HEAD');
    await git('checkout', '--quiet', '-b', 'other');
    await commit('not reviewed');
    await git('tag', 'v1.0.1');

    const [checkout, first] = jobOf(file, 'build').steps;
    expect(checkout?.with).toMatchObject({ 'fetch-depth': 0 });
    const script = scriptOf(file, 'build', 'The tag is on main');
    expect(first?.run).toBe(script);
    const check = async (tag: string) => {
      await git('checkout', '--quiet', '--detach', tag);
      return runScript(script, folder, process.env);
    };
    await check('v1.0.0');
    await check('origin/main');
    await expect(check('v1.0.1')).rejects.toThrow('This commit is not on main.');
  });
});

it('The rules that delivery.md sets for releases are for the tags that start the workflows', async () => {
  const guide = await readFile('docs/delivery.md', 'utf8');
  const [, script = ''] = /^### 6\. [^]*?```sh\n([^]*?)```/m.exec(guide) ?? [];
  const folder = await temporaryFolder();
  // Answers the question for the user, and notes what it is given.
  const standIn =
    '#!/bin/bash\n[ "$2" = user ] && echo 7 && exit\necho "$*" >> calls\n[ "$6" != - ] || jq -c . >> calls\n';
  await writeFile(join(folder, 'gh'), standIn, { mode: 0o755 });
  await runScript(script, folder, { PATH: `${folder}${delimiter}${process.env['PATH']}`, REPO: 'a/b' });
  const calls = (await readFile(join(folder, 'calls'), 'utf8')).trim().split('\n');
  const environment = jobOf('publish.yml', 'publish').environment?.name;
  expect(JSON.parse(calls[1]!)).toMatchObject({
    conditions: {
      ref_name: { include: ['v', 'client-v', 'cdk-offline-v'].map((start) => `refs/tags/${start}*`) },
    },
  });
  expect(calls[2]).toContain(`repos/a/b/environments/${environment} `);
  expect(JSON.parse(calls[3]!)).toMatchObject({ reviewers: [{ id: 7 }] });
  expect(calls.slice(4).join()).toMatch(
    /name=client-v\* --field type=tag.*name=cdk-offline-v\* --field type=tag/,
  );
  const tagsOf = (file: string) => workflows.get(file)?.on['push'];
  const number = '[0-9]+.[0-9]+.[0-9]+';
  expect(tagsOf('release.yml')).toEqual({ tags: [`v${number}`] });
  expect(tagsOf('publish.yml')).toEqual({ tags: [`client-v${number}`, `cdk-offline-v${number}`] });
});

it('The upgrade test compares a tagged commit with the release before it', async () => {
  const { folder, git, commit } = await newRepository();
  await commit('first');
  await git('tag', 'v1.0.0');
  expect(lastReleaseOf(folder)).toBeUndefined();
  await commit('second');
  expect(lastReleaseOf(folder)).toBe('v1.0.0');
  await git('tag', 'client-v1.2.0');
  await git('tag', '-a', 'v1.1.0', '-m', 'v1.1.0');
  expect(lastReleaseOf(folder)).toBe('v1.0.0');
  await commit('third');
  expect(lastReleaseOf(folder)).toBe('v1.1.0');
});

describe.runIf(isFullRun)('A package that is built by hand', () => {
  async function build(origin: string) {
    const folder = join(await temporaryFolder(), 'dist');
    const { GITHUB_REPOSITORY: _, ...env } = process.env;
    const remote = { GIT_CONFIG_KEY_0: 'remote.origin.url', GIT_CONFIG_VALUE_0: origin };
    await execute(process.execPath, ['../build.mjs', folder], {
      cwd: resolve('packages/client'),
      env: { ...env, ...remote, GIT_CONFIG_COUNT: '1' },
    });
    return { folder, manifest: JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as object };
  }

  it.each(['git@github.com:example/the.store.git', 'https://github.com/example/the.store'])(
    'has the repository that it was cloned from: %s',
    async (origin) => {
      const { folder, manifest } = await build(origin);
      expect(manifest).toMatchObject({
        repository: { url: 'git+https://github.com/example/the.store.git', directory: 'packages/client' },
      });
      expect(manifest).not.toHaveProperty('private');
      expect(await readdir(folder)).toContain('index.js');
    },
  );

  it('cannot be published if that is not known', async () => {
    const { folder } = await build('/somewhere/else');
    const { endpoint, versions } = await startRegistry();
    const { env } = await newRunner(endpoint, 'v0.0.0');
    await expect(execute('npm', ['publish'], { cwd: folder, env })).rejects.toThrow('marked as private');
    expect(versions.size).toBe(0);
  });
});
