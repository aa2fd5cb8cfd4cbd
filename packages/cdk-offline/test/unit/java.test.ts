import { delimiter, join } from 'node:path';
import { expect, it } from 'vitest';
import { javaEnvironment, javaVersion } from '../../src/dynamodb/java.ts';

it.each([
  ['openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime Environment', 17],
  ['java version "1.8.0_412"', 8],
  ['openjdk version "25-ea" 2025-09-16', 25],
  ['Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "21" 2023-09-19', 21],
  ['something else', undefined],
])('%j is Java %s', (output, version) => {
  expect(javaVersion(output)).toBe(version);
});

it('JAVA_HOME takes precedence over PATH', () => {
  const env = { JAVA_HOME: '/opt/java', Path: '/usr/bin' };
  expect(javaEnvironment(env, 'win32')).toEqual({
    JAVA_HOME: '/opt/java',
    Path: [join('/opt/java', 'bin'), '/usr/bin'].join(delimiter),
  });
});

it('Java runs in a UTF-8 locale on Linux in any terminal locale', () => {
  expect(javaEnvironment({ PATH: '/usr/bin', LC_ALL: 'C' }, 'linux')).toEqual({
    PATH: '/usr/bin',
    LC_ALL: 'C.UTF-8',
  });
});
