import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { dirname, matchesGlob } from 'node:path';
import { Command } from '@commander-js/extra-typings';
import { z } from 'zod';
import { ToolError, usageError } from '../operators/command-line/errors.ts';
import { runAsProcess, toolOf } from '../operators/command-line/program.ts';

// CONTRIBUTING.md#update-dependencies says what to look at before a commit.

/** The folders with a lock file. That of the project has `packages/`, too. */
const folders = ['.', 'bench', 'packages/dynamodb-interleavings/findings', 'tools/contributors/checks'];
/**
 * Stay in their major version. aws-cdk: 3.0.0 on the registry is older code than 2.1148.1, and cannot read what aws-cdk-lib 2
 * writes. The others: Lambda's Node.js.
 */
const sameMajor = ['aws-cdk', '@types/node', 'node-*'];
/** Tests need these versions. */
const fixed: ReadonlySet<string> = new Set(['undici7', 'idempotency-2.33']);

const checks = [
  'npm run check',
  'npx vitest run --project templates start-path.test.ts',
  'npm test',
] as const;

const kinds = ['dependencies', 'devDependencies', 'optionalDependencies'] as const;
const manifest = z.object(
  Object.fromEntries(kinds.map((kind) => [kind, z.record(z.string(), z.string()).default({})])),
);

/** Each package that a manifest names, with the folders of these manifests. */
function dependencies(): Map<string, string[]> {
  const files = [
    ...folders.map((folder) => `${folder}/package.json`),
    ...globSync('packages/*/package.json'),
  ];
  const named = files.flatMap((file) =>
    Object.values(manifest.parse(JSON.parse(readFileSync(file, 'utf8'))))
      .flatMap((versions) => Object.keys(versions as object))
      .map((name) => ({ name, folder: dirname(file) })),
  );
  return new Map(
    Array.from(
      Map.groupBy(named, ({ name }) => name),
      ([name, places]) => [name, places.map(({ folder }) => folder)],
    ),
  );
}

const program = new Command('npm run update-dependencies --')
  .description(
    'Updates packages to releases that are a week old, in every package.json and lock file, then runs the checks and tests.',
  )
  .argument('[packages...]', 'packages to update, such as zod (default: all)')
  .action((names) => {
    const all = dependencies();
    for (const name of names) {
      if (fixed.has(name)) throw usageError(`${name} stays at its version, because a test is about it.`);
      if (!all.has(name)) throw usageError(`No package.json names the package ${JSON.stringify(name)}.`);
    }
    const chosen = names.length === 0 ? [...all.keys()] : names;
    const keepsMajor = (name: string) => sameMajor.some((pattern) => matchesGlob(name, pattern));
    const updates = [
      updateOf(chosen.filter((name) => !keepsMajor(name) && !fixed.has(name))),
      updateOf(chosen.filter(keepsMajor), '--target minor'),
    ];
    const changed = folders.filter(
      (folder) => folder === '.' || chosen.some((name) => all.get(name)?.includes(folder)),
    );
    // `npm update` would drop the packages of other platforms that a registry does not have.
    const installs = changed.map((folder) => `npm install --prefix ${folder}`);
    const isUpdated = [...updates, ...installs].every((command) => command === '' || succeeds(command));
    const failed = isUpdated ? checks.filter((command) => !succeeds(command)) : ['the update'];
    console.log('\nBefore you commit: CONTRIBUTING.md#update-dependencies has what to look at.');
    if (failed.length > 0) throw new ToolError('failed', `Failed: ${failed.join('; ')}.`);
  });
await runAsProcess(toolOf(program));

/** The command that writes newer versions of these packages into the manifests. Empty if there are none. */
function updateOf(names: readonly string[], more = ''): string {
  if (names.length === 0) return '';
  const files = `{${folders.join(',')},packages/*}/package.json`;
  // .github/dependabot.yml waits a week, too.
  const options = `-u --packageFile ${files} --cooldown 7 --dep prod,dev,optional`;
  return `npx --yes npm-check-updates@23.1.1 ${options} ${more} --filter ${names.join(',')}`;
}

function succeeds(command: string): boolean {
  console.log(`\n> ${command}`);
  const [name = '', ...args] = command.split(/ +/);
  return spawnSync(name, args, { stdio: 'inherit', shell: process.platform === 'win32' }).status === 0;
}
