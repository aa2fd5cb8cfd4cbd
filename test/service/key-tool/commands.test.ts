import { readFile } from 'node:fs/promises';
import { matchesGlob } from 'node:path';
import type { Call } from 'dynamodb-interleavings';
import { beforeAll, describe, expect, test } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };
import { newKey } from '../../../functions/access/keys.ts';
import { planNames } from '../../../functions/access/plans.ts';
import {
  answer,
  before,
  gatewayIdOf,
  issue,
  type Issued,
  json,
  keysIn,
  recordOf,
  recordsOf,
  storedOf,
} from './issued-keys.ts';
import { onCallPolicy } from '../../../tools/operators/deploy/on-call-policy.ts';
import { World } from '../world.ts';

// These tests are about what is the same for several commands.

const commands =
  'create list show usage rotate revoke suspend resume change-plan identify cleanup repair forget'.split(' ');
const id = 'key_06fz1m4tqabcdefg';

describe('invalid arguments', () => {
  const world = new World({ isChecked: false });
  const missing = (what: string) =>
    `equired ${what}. If you gave it: npm needs a double dash before all options (npm run keys -- …).`;
  const option = (name: string) => missing(`option '${name}' not specified`);

  test.each([
    ['', 'Missing command. See --help.'],
    ['lsit --stage local', "Unknown command 'lsit' (Did you mean list?)"],
    ['frobnicate', "Unknown command 'frobnicate'. See --help."],
    [`identify --stage local ${newKey('local')}`, 'identify" reads it from standard input.'],
    ['--stage local list', "Unknown option '--stage'. See --help."],
    ['list', option('--stage <stage>')],
    ['list local', option('--stage <stage>')],
    ['create --stage local --owner A', option('--plan <plan>')],
    ['show --stage local', missing("argument 'key-id'")],
    ['list --stage local --all', "Unknown option '--all'. See --help."],
    ['list --stage local --yes', "Unknown option '--yes'. See --help."],
    [
      'list --stage local --limit 10001',
      "Option '--limit <n>' argument '10001' is invalid. It must be a whole number from 1 to 10,000.",
    ],
    ['list --stage production', 'Allowed choices are local, staging, prod.'],
    ['list --stage prod --port 3000', '--port requires --stage local.'],
    ['create --stage local --owner Ada --plan unheard', `Allowed choices are ${planNames.join(', ')}`],
    ['create --stage local --owner Ada --plan enterprise', 'requires --per-minute and --per-day.'],
    [`change-plan ${id} --stage local --plan free --per-day 7`, 'the limits of free are fixed.'],
    ['show Ada --stage local', 'A key ID looks like'],
    [`show ${id} ${id} --stage local`, 'Too many arguments'],
    [`usage ${id} --stage local --days 91`, 'from 1 to 90.'],
    [`rotate ${id} --stage local --overlap 1w`, 'such as 90s, 24h or 7d'],
    [`suspend ${id} --stage local --for 0s`, 'such as 90s, 24h or 7d'],
    ['list --stage local --owner=', 'It must not be empty or only whitespace.'],
    ['repair --stage local --owner=', 'It must not be empty or only whitespace.'],
    ['forget --stage local', option('--owner <name>')],
  ])('end with 2, and one line says why: %s', async (call, expected) => {
    const { exitCode, stdout, stderr, calls } = await world.run(`keys ${call}`, { stage: 'as written' });
    expect({ exitCode, stdout, calls }).toEqual({ exitCode: 2, stdout: '', calls: [] });
    expect(stderr).toContain(expected);
    expect(stderr).toMatch(/(^|\n)[^\n]{10,}[.?…)]\n$/);
    // JSON says the same, wherever the option stands: one object, and nothing beside it.
    for (const args of [`${call} --json`, `--json ${call}`]) {
      const asJson = await world.run(`keys ${args}`, { stage: 'as written' });
      expect(asJson).toMatchObject({ exitCode: 2, stdout: '' });
      expect(JSON.parse(asJson.stderr)).toEqual({
        error: { code: 'usage', message: expect.stringMatching(/^[^\n]{10,}[.?…)]$/) },
      });
    }
  });

  test('without a command show the help as well', async () => {
    expect((await world.run('keys', { stage: 'as written' })).stderr).toContain('Commands:');
  });

  test('do not repeat an API key given in place of its ID', async () => {
    const key = newKey('prod');
    for (const args of [
      `show ${key} --stage prod`,
      `list --stage prod ${key}`,
      `list --stage ${key}`,
      key,
      `--${key}`,
    ]) {
      const { exitCode, stdout, stderr } = await world.run(`keys ${args}`, { stage: 'as written' });
      expect(exitCode).toBe(2);
      expect(stdout + stderr).not.toContain(key);
    }
    expect((await world.run(`keys show ${key} --stage prod`)).stderr).toContain('identify" reads it');
  });
});

describe('the help', () => {
  const world = new World({ isChecked: false });

  test.each(commands)('of %s has its required options, --yes if it asks, and an example', async (command) => {
    const { exitCode, stdout } = await world.run(`keys ${command} --help`);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/--stage <stage> [^-]*\(required\)/);
    if (command === 'create') expect(stdout).toMatch(/--owner <name> +who uses the key \(required\)/);
    const asks = ['rotate', 'revoke', 'suspend', 'change-plan', 'repair', 'forget'].includes(command);
    expect(stdout.includes('--yes')).toBe(asks);
    expect(stdout).toMatch(new RegExp(`Example:\\n  npm run keys -- ${command} .*--stage`));
  });

  test('names every command', async () => {
    const { exitCode, stdout } = await world.run('keys --help', { stage: 'as written' });
    expect(exitCode).toBe(0);
    for (const command of commands) expect(stdout).toMatch(new RegExp(`^  ${command} `, 'm'));
    const version = await world.run('keys --version', { stage: 'as written' });
    expect(version).toMatchObject({ exitCode: 0, stdout: `${packageJson.version}\n` });
  });

  test('of every tool has the same exit codes, and docs/keys.md has them all', async () => {
    const codes = ['0', '1', '2', '3', '4', '5', '130'];
    for (const tool of ['keys', 'pets']) {
      const { stdout } = await world.run(`${tool} --help`, { stage: 'as written' });
      const [, listed = '', ...others] = stdout.split('Exit codes: ');
      expect(others).toEqual([]);
      expect([...listed.matchAll(/\b(\d+) /g)].map(([, code]) => code)).toEqual(codes);
    }
    const guide = await readFile('docs/keys.md', 'utf8');
    expect([...guide.matchAll(/^\| (\d+) +\|/gm)].map(([, code]) => code)).toEqual(codes);
  });
});

/** How a key of Ada on the free plan gets into a state, and what it then answers. The time is 12:00 on 1 July 2026. */
const states = {
  active: [() => {}, 'admitted'],
  'suspended for an hour': [(world, { keyId }) => world.run(`keys suspend ${keyId} --for 1h`), 'suspended'],
  'suspended for good': [(world, { keyId }) => world.run(`keys suspend ${keyId}`), 'suspended'],
  'suspended by the limiter': [
    (world, issued) => use(world, issued, { suspendedUntil: world.now + 600 }),
    'suspended',
  ],
  'suspended no more': [(world, issued) => use(world, issued, { suspendedUntil: world.now - 1 }), 'admitted'],
  'out of requests': [(world, issued) => use(world, issued, { dayCount: 1_000 }), 'rejected'],
  'within its rotation': [(world, { keyId }) => world.run(`keys rotate ${keyId} --overlap 1h`), 'admitted'],
  expired: [(world, { keyId }) => world.run(`keys rotate ${keyId} --overlap 0s`), 'unauthorized'],
  revoked: [(world, { keyId }) => world.run(`keys revoke ${keyId}`), 'unauthorized'],
} as const satisfies Readonly<
  Record<string, readonly [enter: (world: World, issued: Issued) => unknown, answer: string]>
>;
type StateName = keyof typeof states;

function use(world: World, { keyId }: Issued, usage: object): void {
  const { keyHash } = recordOf(world, keyId);
  const day = Math.floor(world.now / 86_400) * 86_400;
  world.put('rateLimits', { keyHash, minute: world.now, minuteCount: 1, day, dayCount: 1, ...usage });
}

const hour = 'until 2026-07-01T13:00:00Z';
const minutes = 'until 2026-07-01T12:10:00Z';
const outOf = 'It has used its limit of the day, so its requests get 429 until 2026-07-02T00:00:00Z.';
const is429 = (until: string) => `It is suspended ${until}, so its requests get 429.`;
const longer = 'which is longer. To end that earlier, add --shorten.';
/** What a command says, and what the key then answers. Without an answer: it is refused, and changes nothing. */
type Outcome = readonly [said: string, answer?: string];
const ended = {
  expired: ['is expired, so it cannot be '],
  revoked: ['is revoked, so it cannot be '],
} as const;
const leakedOrNot = ['. If it has leaked, revoke it: '] as const;
const replaced = { 'within its rotation': leakedOrNot, expired: leakedOrNot } as const;

const outcomes: Readonly<
  Record<string, Readonly<Partial<Record<StateName, Outcome>>> & { readonly others?: Outcome }>
> = {
  'rotate --overlap 1h': {
    ...ended,
    ...replaced,
    others: [`The old one is valid ${hour}.\n`, 'admitted'],
    'suspended for an hour': [`The old one is valid ${hour}. ${is429(hour)}\n`, 'suspended'],
    'suspended for good': [`The old one is valid ${hour}. ${is429('indefinitely')}\n`, 'suspended'],
    'suspended by the limiter': [`The old one is valid ${hour}. ${is429(minutes)}\n`, 'suspended'],
    'out of requests': [`The old one is valid ${hour}. ${outOf}\n`, 'rejected'],
  },
  'rotate --overlap 0s': {
    ...ended,
    ...replaced,
    others: ['The old one is not valid any more.\n', 'unauthorized'],
  },
  suspend: {
    ...ended,
    others: ['is suspended indefinitely.\n', 'suspended'],
    'suspended for an hour': [`is suspended indefinitely, before that ${hour}.\n`, 'suspended'],
    'suspended for good': ['is suspended indefinitely already.\n', 'suspended'],
    'suspended by the limiter': [`is suspended indefinitely, before that ${minutes}.\n`, 'suspended'],
  },
  'suspend --for 1h': {
    ...ended,
    others: [`is suspended ${hour}.\n`, 'suspended'],
    'suspended for an hour': [`is suspended ${hour} already.\n`, 'suspended'],
    'suspended for good': [`is suspended indefinitely, ${longer}`],
    'suspended by the limiter': [`is suspended ${hour}, before that ${minutes}.\n`, 'suspended'],
  },
  'suspend --for 10m --shorten': {
    ...ended,
    others: [`is suspended ${minutes}.\n`, 'suspended'],
    'suspended for an hour': [`is suspended ${minutes}, before that ${hour}.\n`, 'suspended'],
    'suspended for good': [`is suspended ${minutes}, before that indefinitely.\n`, 'suspended'],
    'suspended by the limiter': [`is suspended ${minutes} already.\n`, 'suspended'],
  },
  resume: {
    ...ended,
    others: ['is not suspended.\n', 'admitted'],
    'suspended for an hour': [`is resumed, before that suspended ${hour}.\n`, 'admitted'],
    'suspended for good': ['is resumed, before that suspended indefinitely.\n', 'admitted'],
    'suspended by the limiter': [`is resumed, before that suspended ${minutes}.\n`, 'admitted'],
    'out of requests': [`is not suspended. ${outOf}\n`, 'rejected'],
  },
  'change-plan --plan pro': {
    ...ended,
    others: ['is on the pro plan.\n', 'admitted'],
    'suspended for an hour': [`is on the pro plan. ${is429(hour)}\n`, 'suspended'],
    'suspended for good': [`is on the pro plan. ${is429('indefinitely')}\n`, 'suspended'],
    'suspended by the limiter': [`is on the pro plan. ${is429(minutes)}\n`, 'suspended'],
  },
  revoke: { others: ['is revoked.\n', 'unauthorized'], revoked: ['was revoked before.\n', 'unauthorized'] },
};

describe('what a command says of a key in each state is what the key then answers', () => {
  let world: World;
  const issued = {} as Record<StateName, Issued>;
  beforeAll(async () => {
    world = new World({ isChecked: false });
    for (const [name, [enter]] of Object.entries(states)) {
      issued[name as StateName] = await issue(world);
      await enter(world, issued[name as StateName]);
    }
  });

  test.each(Object.keys(outcomes))('%s', async (text) => {
    const changed = new World({ isChecked: false, from: world });
    const [name, ...options] = text.split(' ');
    for (const [state, [, was]] of Object.entries(states)) {
      const { keyId, key } = issued[state as StateName];
      expect([state, await answer(changed, key)]).toEqual([state, was]);
      const { records } = storedOf(changed);
      const [said, then] = outcomes[text]![state as StateName] ?? outcomes[text]!.others!;
      const { exitCode, stdout, stderr } = await changed.run(['keys', name, keyId, ...options].join(' '));
      expect(stderr + stdout).toContain(said);
      expect([state, exitCode]).toEqual([state, then === undefined ? 4 : 0]);
      if (then === undefined || said.includes('already')) expect(storedOf(changed).records).toEqual(records);
      expect([state, await answer(changed, key)]).toEqual([state, then ?? was]);
      for (const next of keysIn(stdout)) expect(await answer(changed, next)).toBe('admitted');
    }
  });
});

describe('in prod', () => {
  const prod = '--stage prod';

  test.each([
    ['revoke', /^prod: Revoke ID \(Ada, free\)\? It cannot be undone\. \[y\/N\] /],
    ['suspend --for 1h', /^prod: Suspend ID \(Ada, free\) until 2026-\S+Z\? \[y\/N\] /],
    ['rotate --overlap 1h', /^prod: Replace ID \(Ada, free\)\? \[y\/N\] /],
    ['change-plan --plan pro', /^prod: Change ID \(Ada, free\) to pro\? \[y\/N\] /],
  ])('%s changes nothing until someone confirms it', async (text, question) => {
    const world = new World({ isChecked: false });
    const { keyId } = await issue(world);
    const [name, ...options] = text.split(' ');
    const command = ['keys', name, keyId, ...options, prod].join(' ');
    const unattended = await world.run(command);
    expect(unattended).toMatchObject({ exitCode: 4, stdout: '' });
    expect(unattended.stderr).toBe('This change must be confirmed. Run it in a terminal, or with --yes.\n');
    for (const typed of [['n\n'], ['\n'], ['yeah, no\n'], []]) {
      const run = await world.run(command, { typed });
      expect(run).toMatchObject({ exitCode: 4, stdout: '' });
      expect(run.stderr.replace(keyId, 'ID')).toMatch(question);
      expect(run.stderr).toMatch(/Nothing was changed\.\n$/);
    }
    expect(recordOf(world, keyId)).toMatchObject({
      status: 'active',
      plan: 'free',
      audit: [{ did: 'created' }],
    });
    expect(await world.run(command, { typed: ['y\n'] })).toMatchObject({ exitCode: 0 });
    expect(recordOf(world, keyId).audit).toHaveLength(2);
  });

  test('the question says what a suspension replaces, and is asked once if somebody else is faster', async () => {
    const world = new World({ isChecked: false });
    const { keyId } = await issue(world);
    await world.run(`keys suspend ${keyId}`);
    const shorter = await world.run(`keys suspend ${keyId} --for 1h --shorten ${prod}`, { typed: ['n\n'] });
    expect(shorter.stderr).toMatch(/until 20\S+Z, before that indefinitely\? \[y\/N\]/);
    before(world, ['revoke', 'TransactWriteItems'], () => world.run(`keys resume ${keyId}`));
    const { exitCode, stderr } = await world.run(`keys revoke ${keyId} ${prod}`, { typed: ['yes\n'] });
    expect([exitCode, stderr.match(/\[y\/N\]/g)?.length]).toEqual([0, 1]);
  });

  test('repair and forget say how many keys they change, and change nothing without a yes', async () => {
    const world = new World({ isChecked: false });
    const { keyId } = await issue(world, '--owner Grace --plan free');
    world.apiKeys.unbind('free', recordOf(world, keyId).gatewayKeyId);
    const repair = `keys repair --owner Grace ${prod}`;
    expect((await world.run(`${repair} --dry-run`)).stdout).toContain('Valid keys: 1. To repair: 1.');
    expect(await world.run(repair)).toMatchObject({ exitCode: 4, stdout: '' });
    expect(await world.run(repair, { typed: ['n\n'] })).toMatchObject({
      exitCode: 4,
      stdout: '',
      stderr: 'prod: Repair 1 of 1 valid key? [y/N] Nothing was changed.\n',
    });
    expect(recordOf(world, keyId).audit).toHaveLength(1);
    const done = await world.run(repair, { typed: ['y\n'] });
    expect(done).toMatchObject({ exitCode: 0, stdout: 'Valid keys: 1. Repaired: 1.\n' });
    // Nothing is left to ask about.
    expect(await world.run(repair)).toMatchObject({ exitCode: 0, stdout: 'Valid keys: 1. Repaired: 0.\n' });
    await world.run(`keys revoke ${keyId}`);
    const forgotten = await world.run(`keys forget --owner Grace ${prod}`, { typed: ['n\n'] });
    expect(forgotten.stderr).toBe(
      'prod: Delete the name of this owner from 1 key? It cannot be undone. [y/N] Nothing was changed.\n',
    );
    expect(recordOf(world, keyId).owner).toBe('Grace');
  });
});

test('a malformed record is named by its ID and left out', async () => {
  const world = new World({ isChecked: false });
  const [good1, damaged, withoutPlan] = [await issue(world), await issue(world), await issue(world)];
  const record = recordOf(world, damaged.keyId);
  world.put('apiKeys', { ...record, audit: 'gone' });
  world.put('apiKeys', { ...recordOf(world, withoutPlan.keyId), plan: undefined });
  const listed = await world.run('keys list --json');
  expect(JSON.parse(listed.stdout)).toMatchObject({ keys: [{ keyId: good1.keyId }], hasMore: false });
  expect(listed.stderr).toContain(`The record of key ${damaged.keyId} is malformed: audit:`);
  // No index has it.
  expect(listed.stderr).toContain(`The record of key ${withoutPlan.keyId} is malformed: plan: is required`);
  expect(listed.stderr).not.toContain(record.keyHash);
  const missing = await world.run('keys show key_06fz1m4tqabcdefg --json');
  const message = 'Key key_06fz1m4tqabcdefg does not exist in stage local. "list" shows all.';
  expect([missing.exitCode, JSON.parse(missing.stderr)]).toEqual([
    3,
    { error: { code: 'not_found', message } },
  ]);
});

test('a full audit trail takes only what ends the key, or a repair', async () => {
  const world = new World({ isChecked: false });
  const { keyId } = await issue(world);
  const fill = (length: number) => {
    const record = recordOf(world, keyId);
    world.put('apiKeys', { ...record, audit: Array.from({ length }, () => record.audit[0]) });
  };
  fill(999);
  expect((await world.run(`keys change-plan ${keyId} --plan pro`)).exitCode).toBe(0);
  const refused = await world.run(`keys change-plan ${keyId} --plan free`);
  expect(refused.exitCode).toBe(4);
  expect(refused.stderr).toContain(
    `The audit trail of ${keyId} is full (1000 lines). Rotate or revoke the key.`,
  );
  world.apiKeys.unbind('pro', gatewayIdOf(world, { keyId }));
  expect(await json(world, 'repair')).toMatchObject({ repaired: [keyId] });
  expect((await world.run(`keys rotate ${keyId}`)).exitCode).toBe(0);
  for (const record of recordsOf(world)) {
    expect(await json(world, `revoke ${record.keyId}`)).toMatchObject({ changed: true });
    if (record.keyId === keyId) fill(1_000);
  }
  expect((await world.run('keys forget --owner Ada')).exitCode).toBe(0);
});

/** A key, a hash, or what had to be redacted. */
const secret = /as_local_|[0-9a-f]{64}|\[redacted\]/i;

test.each(['', ' --json'])(
  'no key and no hash is in any output but the line of a new key:%s',
  async (format) => {
    const world = new World({ isChecked: false });
    const secrets: string[] = [];
    /** The ID of the key that a command shows. */
    const reveal = async (command: string): Promise<string> => {
      const { stdout, stderr } = await world.run(`keys ${command}${format}`);
      const [key = ''] = keysIn(stdout);
      secrets.push(key);
      expect(stdout.split('\n').filter((line) => line.includes(key))).toHaveLength(1);
      expect(stdout.replace(key, '') + stderr).not.toMatch(secret);
      expect(stderr).toContain('API Gateway can need minutes');
      return /key_[0-9a-z]{16}/.exec(stdout)![0];
    };
    const old = await reveal('create --owner Ada --plan free --note a-note');
    const next = await reveal(`rotate ${old} --overlap 1h`);
    const ofOld = ['show', 'usage', 'suspend', 'rotate', 'resume', 'revoke', 'revoke'];
    const ofMany = ['list --owner Ada', 'identify', 'repair --owner Ada', 'cleanup --owner Ada'];
    const ofNext = `change-plan ${next} --plan pro`;
    for (const command of [...ofOld.map((name) => `${name} ${old}`), ofNext, ...ofMany]) {
      const { stdout, stderr } = await world.run(`keys ${command}${format}`, {
        piped: `Bearer ${secrets[0]}\n`,
      });
      expect(stdout + stderr).not.toBe('');
      // Nothing had to be redacted.
      expect(stdout + stderr).not.toMatch(secret);
    }
  },
);

/** Statements of IAM, with lists of actions and resources. */
type Statements = readonly Record<'Action' | 'Resource', string | readonly string[]>[];

/** Whether a policy permits a call. A transaction of the tool puts. */
function permits(statements: Statements, { service, operation, table }: Call): boolean {
  const [method, path = ''] = operation.replace('TransactWriteItems', 'PutItem').split(' ');
  const resources: Readonly<Record<string, string>> = {
    DynamoDB: `arn:aws:dynamodb:eu-central-1:1:table/AnimalStore-prod-Tables${table}1-2`,
    apigateway: `arn:aws:apigateway:eu-central-1::${path}`,
  };
  const is = (pattern: string | readonly string[], text: string) =>
    [pattern].flat().some((each) => matchesGlob(text.replaceAll('/', ':'), each.replaceAll('/', ':')));
  return statements.some(
    ({ Action, Resource }) =>
      is(Action, `${service.toLowerCase()}:${method}`) && is(Resource, resources[service] ?? 'the stack'),
  );
}

test('the policy for the engineer on call is enough to find, suspend, resume and revoke a key, and not to issue one', async () => {
  const made = (type: string, logicalId: string, physicalId: string) => ({ type, logicalId, physicalId });
  const resources = [
    ...['ApiKeys', 'RateLimits'].map((table) =>
      made('AWS::DynamoDB::GlobalTable', `Tables${table}1`, `AnimalStore-prod-Tables${table}1-2`),
    ),
    made('AWS::ApiGateway::RestApi', 'Api', 'api'),
    made('AWS::ApiGateway::UsagePlan', 'Free', 'free'),
  ];
  const arn = 'arn:aws:cloudformation:eu-central-1:1:stack/AnimalStore-prod/2';
  const { Statement: statements } = onCallPolicy({ arn, resources }, 'AnimalStore-prod');
  const world = new World({ isChecked: false });
  const { keyId, key } = await issue(world);
  const refused = async (command: string, terminal = {}) => {
    const { exitCode, calls } = await world.run(`keys ${command}`, terminal);
    expect([command, exitCode]).toEqual([command, 0]);
    return calls.filter((call) => !permits(statements, call)).map(({ operation }) => operation);
  };
  for (const command of ['list', 'list --owner Ada']) expect(await refused(command)).toEqual([]);
  for (const command of ['show', 'usage', 'suspend', 'resume', 'revoke'])
    expect(await refused(`${command} ${keyId}`)).toEqual([]);
  expect(await refused('identify', { piped: key })).toEqual([]);
  expect(await refused('create --owner Ada --plan pro')).toEqual([
    'POST /apikeys',
    'POST /usageplans/pro/keys',
  ]);
});
