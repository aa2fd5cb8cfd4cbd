import { spawnSync } from 'node:child_process';

// `npm run update-dependencies`: updates every package.json and lock file, then runs the checks that notice what breaks.
// CONTRIBUTING.md#update-dependencies says what to look at before a commit.

/** The folders with a lock file. That of the project has `packages/`, too. */
const folders = ['.', 'bench', 'packages/dynamodb-interleavings/findings', 'tools/contributors/checks'];
/**
 * Stay in their major version. aws-cdk: 3.0.0 on the registry is older code than 2.1148.1, and cannot read what aws-cdk-lib 2
 * writes. The others: Lambda's Node.js.
 */
const sameMajor = 'aws-cdk,@types/node,node-*';
/** Tests need these versions. */
const fixed = 'undici7,idempotency-2.33';

const checks = [
  'npm run check',
  'npx vitest run --project templates start-path.test.ts',
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
