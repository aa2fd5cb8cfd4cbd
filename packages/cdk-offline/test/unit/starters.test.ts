import { describe, expect, it } from 'vitest';
import { startersOf } from '../../src/dev/starters.ts';

/** Lines of ps: PID, parent, process group and command line. */
const ps = (...lines: readonly string[]) => `    1     0     1 /sbin/init\n${lines.join('\n')}\n`;

describe('the package manager that started process 9', () => {
  it.each<[string, string, number[]]>([
    ['npm', ps('5 1 5 npm run serve', '7 5 5 sh -c cdk-offline', '9 7 5 node cli.js'), [7, 5]],
    ['npx', ps('5 1 5 npm exec cdk-offline', '7 5 5 sh -c "cdk-offline"', '9 7 5 node cli.js'), [7, 5]],
    [
      'a script of npm',
      ps('5 1 5 npm start', '6 5 5 sh -c node run.mjs', '7 6 5 node run.mjs', '9 7 5 node main.ts'),
      [7, 6, 5],
    ],
    ['pnpm', ps('5 1 5 /usr/bin/node /usr/lib/pnpm/bin/pnpm.cjs dev', '9 5 5 node cli.js'), [5]],
    ['Yarn', ps('5 1 5 node /opt/yarn.js run dev', '9 5 5 node cli.js'), [5]],
  ])('is %s', (_, processes, expected) => {
    expect(startersOf(9, processes)).toEqual(expected);
  });

  it.each<[string, string]>([
    ['a terminal', ps('5 1 5 -bash', '9 5 9 node cli.js')],
    ['a shell that npm started', ps('4 1 4 npm run shell', '5 4 5 bash', '9 5 9 node cli.js')],
    ['a script in the background', ps('5 1 5 bash serve-in-background.sh', '9 5 5 node cli.js')],
    ['a program of another name', ps('5 1 5 python3 /home/npm/start.py', '9 5 5 node cli.js')],
    ['a program that has ended', ps('9 1 5 node cli.js')],
    ['a detached start below npm', ps('4 1 4 npm run up', '5 4 4 node up.mjs', '9 5 9 node cli.js')],
    ['no process that ps shows', ''],
  ])('does not exist: %s', (_, processes) => {
    expect(startersOf(9, processes)).toEqual([]);
  });
});
