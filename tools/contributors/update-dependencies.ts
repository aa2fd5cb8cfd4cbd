import { spawnSync } from 'node:child_process';
import { basename } from 'node:path';

// `npm run update-dependencies`: updates every package.json and lock file, then runs the checks that notice what breaks.

/** The folders with a lock file. That of the project has `packages/`, too. */
const folders = ['.', 'bench', 'findings', 'tools/contributors/checks'];

/** In days, as in .github/dependabot.yml: most malicious releases are found by then. */
const cooldown = 7;

/** Packages that stay in their major version, and why. */
const sameMajor = {
  'aws-cdk':
    '3.0.0 of the registry is older code than 2.1148.1, and cannot read an assembly of aws-cdk-lib 2.',
  '@types/node': 'The project uses the Node.js of Lambda.',
  'node-*': 'The same.',
};

/** Packages that stay as they are, and why. */
const fixed = {
  undici7: 'The client is tried with two major versions of undici.',
  'idempotency-2.33': 'findings/ compares this version with the newest.',
};

for (const [kind, packages] of Object.entries({
  'in their major version': sameMajor,
  'as they are': fixed,
})) {
  console.log(`Stay ${kind}:`);
  for (const [name, reason] of Object.entries(packages)) console.log(`  ${name}: ${reason}`);
}

const files = `{${folders.join(',')},packages/*}/package.json`;
const update = ['npm-check-updates@23.1.1', '-u', '--packageFile', files, '--cooldown', `${cooldown}`];
const names = (packages: object) => Object.keys(packages).join(',');
run('npx', '--yes', ...update, '--dep', 'prod,dev,optional', '--reject', names({ ...sameMajor, ...fixed }));
run(
  'npx',
  '--yes',
  ...update,
  '--dep',
  'prod,dev,optional',
  '--filter',
  names(sameMajor),
  '--target',
  'minor',
);
// Not `npm update`: it drops the packages of other platforms that a registry does not have.
for (const folder of folders) run('npm', 'install', '--prefix', folder);

const checks = [
  ['npm', 'run', 'check'],
  ['npx', 'vitest', 'run', '--project', 'infrastructure', 'start-path.test.ts'],
  ['npm', 'test'],
];
const failed = checks.filter((command) => !succeeds(...command)).map((command) => command.join(' '));
console.log(`
To do by hand:
- Read the notes of each new major version: git diff '*package.json'
- Look for packages of other platforms (macOS, Windows) that a lock file has lost: git diff '*package-lock.json'
- If start-path.test.ts fails, do what its message says: a function has a budget of bytes.
- Compare cold starts before and after: npm run bench
- If users notice a change, say so in CHANGELOG.md.
- Packages of Python: .ci/requirements.in has the command. Actions: Dependabot proposes them.
`);
if (failed.length > 0) {
  console.error(`Failed:\n  ${failed.join('\n  ')}`);
  process.exitCode = 1;
}

function run(...command: string[]): void {
  if (succeeds(...command)) return;
  console.error(`${basename(import.meta.filename)}: "${command.join(' ')}" failed.`);
  process.exit(1);
}

function succeeds(...command: string[]): boolean {
  console.log(`\n> ${command.join(' ')}`);
  const [program, ...args] = command;
  return spawnSync(program!, args, { stdio: 'inherit', shell: process.platform === 'win32' }).status === 0;
}
