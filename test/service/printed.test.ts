import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { describe, expect, test } from 'vitest';
import { toJson } from '../../functions/http/exact-json.ts';
import { isFullRun } from '../support/rounds.ts';
import { issue, recordOf } from './key-tool/issued-keys.ts';
import { Folder } from './pets-tool/folder.ts';
import { malformed, rex } from './pets-tool/stored-animals.ts';
import { World } from './world.ts';

// Nothing that was stored, or stands in a file or its name, changes what a terminal shows: not in a table, a message or JSON.

/** A colour, a cleared screen by a C1 character, a line that looks like one of ours, and text that runs backwards. */
const hostile = 'x\u001b[35m\u009b2J\r\nFORGED\u202e\u2028\u{e0041}\u007f';
const inPath = hostile.replaceAll('\u2028', '');

async function prepare() {
  const world = new World({ isChecked: false });
  // The tables in memory do not know it.
  world.meets = ({ operation }) => (operation === 'DescribeTable' ? 'denied' : 'answered');
  world.put('pets', { ...rex, name: hostile });
  world.put('pets', { ...rex, id: 5, name: hostile, status: 'sold' });
  world.put('pets', { ...malformed, [hostile]: hostile, name: hostile });
  const { keyId } = await issue(world);
  const record = recordOf(world, keyId);
  const audit = [...record.audit, { at: 1, by: hostile, did: hostile, detail: hostile }];
  world.put('apiKeys', { ...record, owner: hostile, note: hostile, audit });
  const odd = await issue(world);
  const more = { plan: hostile, status: hostile, replacedBy: hostile };
  world.put('apiKeys', { ...recordOf(world, odd.keyId), ...more });
  const broken = await issue(world);
  world.put('apiKeys', { ...recordOf(world, broken.keyId), createdAt: hostile, [hostile]: 1 });
  const folder = await Folder.make();
  const write = async (name: string, text: string) => {
    const file = folder.of(`${inPath}/${name}`);
    await mkdir(dirname(file), { recursive: true });
    return folder.write(`${inPath}/${name}`, text);
  };
  return { world, keyId, odd: odd.keyId, key: odd.key, folder, write };
}
type Prepared = Awaited<ReturnType<typeof prepare>>;

/** The colours of the tools, and a line that is replaced in place. */
// oxlint-disable-next-line no-control-regex
const own = /\u001b\[3[1239]m|\r\u001b\[K/g;

/** Calls of each command. */
const pets: Readonly<Record<string, (prepared: Prepared) => Promise<readonly string[]>>> = {
  list: async () => ['list', 'list --malformed'],
  show: async () => [`show ${rex.id}`, `show ${malformed.id}`],
  'set-status': async () => [`set-status ${rex.id} sold --yes`, `set-status ${malformed.id} sold --yes`],
  remove: async () => [`remove ${rex.id} --stage prod`, `remove ${rex.id}`, `remove ${malformed.id}`],
  'assign-ids': async ({ write }) => {
    const file = await write('new.jsonl', `${toJson({ name: 'Rex', categoryId: 7 })}\n`);
    return [`assign-ids ${file} ${file}.ids`, `assign-ids ${file} ${file}.ids`, `assign-ids ${file}.none x`];
  },
  import: async ({ write }) => {
    const file = await write(
      'a.jsonl',
      `${toJson({ ...rex, id: 6 })}\n${toJson({ ...rex, name: 'Other' })}\n`,
    );
    const invalid = await write('b.jsonl', `${toJson({ [hostile]: hostile, name: hostile })}\n${hostile}\n`);
    return [
      `import ${file} --stage prod`,
      `import ${file}`,
      `import ${file} --replace all`,
      `import ${invalid}`,
    ];
  },
  export: async ({ folder }) => {
    const file = folder.of('a.jsonl');
    return [`export ${file}`, `export ${file}`, 'export -', `export - --table ${hostile}`];
  },
  backfill: async ({ write }) => {
    const text = (change: string) => `export default () => (${change});`;
    const modules = [
      await write('a.mjs', text(JSON.stringify({ name: `${hostile}!` }))),
      await write('b.mjs', text(JSON.stringify({ [hostile]: 1 }))),
      await write('c.mjs', `export default () => { throw new Error(${JSON.stringify(hostile)}); };`),
    ];
    return modules.flatMap((file) => [`backfill ${file} --allow-invalid --dry-run`, `backfill ${file}`]);
  },
};

const keys: Readonly<Record<string, (prepared: Prepared) => Promise<readonly string[]>>> = {
  create: async () => [`create --plan pro --owner ${hostile}`],
  rotate: async ({ odd, keyId }) => [`rotate ${odd}`, `rotate ${keyId} --stage prod`, `rotate ${keyId}`],
  revoke: async ({ odd, keyId }) => [`revoke ${keyId} --stage prod`, `revoke ${keyId}`, `revoke ${odd}`],
  suspend: async ({ odd, keyId }) => [`suspend ${keyId} --stage prod`, `suspend ${odd}`],
  resume: async ({ odd, keyId }) => [`resume ${keyId}`, `resume ${odd}`],
  'change-plan': async ({ odd, keyId }) => [
    `change-plan ${keyId} --plan pro`,
    `change-plan ${odd} --plan pro`,
    `change-plan ${odd} --plan ${hostile}`,
  ],
  cleanup: async () => ['cleanup', `cleanup --owner ${hostile}`],
  repair: async () => ['repair --dry-run', 'repair'],
  forget: async () => [`forget --owner ${hostile}`],
  list: async () => ['list', `list --${hostile}`, `list ${hostile}`, `list --region ${hostile}`],
  show: async ({ odd, keyId }) => [`show ${odd}`, `show ${keyId}`, `show ${hostile}`],
  usage: async ({ odd, keyId }) => [`usage ${odd}`, `usage ${keyId}`],
  identify: async () => ['identify'],
};

const ofTools = { pets, keys };
/** Commands whose output has no text of others. */
const showNone = new Set(['set-status', 'repair', 'identify']);

describe.each(['pets', 'keys'] as const)('%s', (tool) => {
  test('has no command that is not tried here', async () => {
    const { stdout } = await new World({ isChecked: false }).run(`${tool} --help`, { stage: 'as written' });
    const listed = [...stdout.split('Commands:')[1]!.matchAll(/^ {2}([a-z-]+) /gm)].map(([, name]) => name);
    expect(new Set(listed)).toEqual(new Set([...Object.keys(ofTools[tool]), 'help']));
  });

  test.each(Object.keys(ofTools[tool]))(
    '%s prints no character that changes what a terminal shows',
    async (name) => {
      for (const [format, isTerminal] of [
        ['', true],
        ['', false],
        [' --json', true],
      ] as const) {
        const prepared = await prepare();
        let shows = 0;
        for (const call of await ofTools[tool][name]!(prepared)) {
          // Whoever is asked does not type on this stand-in for a terminal.
          const asks = call.includes('prod');
          const terminal = {
            ...(asks && { typed: ['n\n'] }),
            piped: asks ? '' : prepared.key,
            isTerminal: isTerminal && !asks,
          };
          const { stdout, stderr, exitCode } = await prepared.world.run(`${tool} ${call}${format}`, terminal);
          // The data of an export are unchanged in a file.
          const text = call === 'export -' && !isTerminal ? stderr : stdout + stderr;
          const printed = text.replaceAll(own, '');
          expect(printed.replaceAll('\n', '')).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u);
          expect(printed).not.toMatch(/^FORGED/m);
          expect(exitCode).toBeDefined();
          if ((stdout + stderr).includes('FORGED')) shows += 1;
          if (format === '' || call.includes(hostile)) continue;
          for (const line of stderr.split('\n').filter((each) => !/^$|\[y\/N\]/.test(each))) JSON.parse(line);
          if (stdout !== '' && call !== 'export -') JSON.parse(stdout);
        }
        expect([name, shows > 0 || showNone.has(name)]).toEqual([name, true]);
        if (!isFullRun && isTerminal) break;
      }
    },
  );
});

test('what JSON says is the same with and without a terminal', async () => {
  const { world } = await prepare();
  const { stdout } = await world.run(`pets show ${rex.id} --json`, { isTerminal: true });
  expect(JSON.parse(stdout)).toMatchObject({ name: hostile });
  const [onTerminal, inFile] = [
    await world.run('pets export -', { isTerminal: true }),
    await world.run('pets export -'),
  ];
  const animals = (text: string) =>
    text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
  expect(animals(onTerminal.stdout)).toEqual(animals(inFile.stdout));
  expect(inFile.stdout).toContain('\u009b2J');
});
