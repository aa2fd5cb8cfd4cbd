import { spawnSync } from 'node:child_process';

// `npm run update-dependencies`: updates every package.json and lock file, then runs the checks that notice what breaks.
// CONTRIBUTING.md#update-dependencies says why some packages stay behind.

/** The folders with a lock file. That of the project has `packages/`, too. */
const folders = ['.', 'bench', 'packages/dynamodb-interleavings/findings', 'tools/contributors/checks'];
const sameMajor = 'aws-cdk,@types/node,node-*';
const fixed = 'undici7,idempotency-2.33';

const checks = [
  'npm run check',
  'npx vitest run --project infrastructure start-path.test.ts',
  'npm test',
] as const;

const files = `{${folders.join(',')},packages/*}/package.json`;
// A week, as in .github/dependabot.yml.
const update = `npx --yes npm-check-updates@23.1.1 -u --packageFile ${files} --cooldown 7 --dep prod,dev,optional`;
const succeeded =
  succeeds(`${update} --reject ${sameMajor},${fixed}`) &&
  succeeds(`${update} --filter ${sameMajor} --target minor`) &&
  // Not `npm update`: it drops the packages of other platforms that a registry does not have.
  folders.every((folder) => succeeds(`npm install --prefix ${folder}`));
const failed = succeeded ? checks.filter((command) => !succeeds(command)) : ['the update'];
console.log('\nBefore you commit: CONTRIBUTING.md#update-dependencies has what to look at.');
if (failed.length > 0) {
  console.error(`Failed:\n  ${failed.join('\n  ')}`);
  process.exitCode = 1;
}

function succeeds(command: string): boolean {
  console.log(`\n> ${command}`);
  const [program = '', ...args] = command.split(' ');
  return spawnSync(program, args, { stdio: 'inherit', shell: process.platform === 'win32' }).status === 0;
}
