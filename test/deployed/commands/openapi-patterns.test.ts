import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readableText } from '../../../functions/pets/schema.ts';
import * as arbitrary from '../../support/arbitraries.ts';
import { openApiDocument } from '../../support/openapi-document.ts';

/**
 * Generated clients read a pattern in three ways: JSON Schema searches for it, Python's `re.match` begins at the start, and Bean
 * Validation in Java compares the whole value. Each pattern of docs/openapi.yaml gives the same answer in all three, and in each
 * language that is on the machine anyway.
 */

interface Found {
  readonly where: string;
  readonly pattern: string;
  readonly examples: readonly string[];
}

/** Every schema with a pattern. */
function patternsOf(node: unknown, where: string): Found[] {
  if (typeof node !== 'object' || node === null) return [];
  const { pattern, examples = [] } = node as { readonly pattern?: unknown; readonly examples?: unknown };
  const own = typeof pattern === 'string' ? [{ where, pattern, examples: examples as string[] }] : [];
  // A parameter is known by its name.
  const nameOf = (key: string, value: unknown): string => {
    const name = (value as { readonly name?: unknown } | null)?.name;
    return typeof name === 'string' ? name : key;
  };
  return [
    ...own,
    ...Object.entries(node).flatMap(([key, value]) => patternsOf(value, `${where}/${nameOf(key, value)}`)),
  ];
}

const patterns = patternsOf(await openApiDocument(), '');
const isHeader = ({ where }: Found) => /\/(?:headers|Idempotency-Key)\//.test(where);

/** Names that the service takes, some of which only a search or only a comparison of the whole value would find. */
const names = [
  'Rex| Rex|Rex |   Rex|R e x|\u00a0Rex|\u200bRex|é|🐈|ж|Ѐ|٣|\ue000|~|"|\\'.split('|'),
  ['\u2028x', 'x\u2028', `${' '.repeat(54)}${'x'.repeat(200)}`],
  fc.sample(arbitrary.petName, { numRuns: 50, seed: 1 }),
].flat();
const others = [
  '',
  ' ',
  '\n',
  '\t\r\n',
  '\0',
  '\x7f',
  '\u00a0',
  '\u200b',
  '\u0085x',
  'x\u0085',
  'x\u009b',
].concat([
  '\nRex',
  'Rex\n',
  'R\nx',
  'x\r\n',
  'Rex\r',
  '\0x',
  'x\0',
  'R\0x',
  'x\x1f',
  'x\x7f',
  '\x1b[2J',
  ' \tx',
]);

/** What one of its fields can be sent as. No header has a line break. */
function textsFor(found: Found): string[] {
  const near = found.examples.flatMap((each) => [
    each,
    ` ${each}`,
    `${each} `,
    `${each}${each}`,
    each.slice(1),
    each.slice(0, -1),
    each.replaceAll(/\d/g, '٣'),
  ]);
  const all = [...near, ...names, ...others];
  return isHeader(found) ? all.filter((each) => !/[\n\r\u0085\u2028\u2029]/.test(each)) : all;
}

const questions = patterns.flatMap((found) => textsFor(found).map((value) => ({ ...found, value })));
type Question = (typeof questions)[number];

/** Three digits, such as `100`: whether a search finds the pattern, whether it matches at the start, and whether it matches the whole text. */
function inJavaScript(flags: string) {
  return ({ pattern, value }: Question): string =>
    [new RegExp(pattern, flags), new RegExp(pattern, `${flags}y`), new RegExp(`^(?:${pattern})$`, flags)]
      .map((way) => Number(way.test(value)))
      .join('');
}

/** A program of test/support/engines/ reads a pattern and a text in each line, in hexadecimal, and answers as above. */
const programs = [
  ['Python', 'python3', 'engine.py'],
  // Git needs it, so it is there.
  ['Perl', 'perl', 'engine.pl'],
] as const;

const hasProgram = ([language, command]: (typeof programs)[number]): boolean => {
  const { status } = spawnSync(command, ['--version']);
  if (status !== 0) console.warn(`Patterns are not tried in ${language}: there is no ${command}.`);
  return status === 0;
};

function answersOf(command: string, program: string): string[] {
  const hexadecimal = (value: string) => Buffer.from(value).toString('hex');
  const { stdout, stderr } = spawnSync(command, [program], {
    cwd: join('test', 'support', 'engines'),
    encoding: 'utf8',
    input: questions.map(({ pattern, value }) => `${hexadecimal(pattern)} ${hexadecimal(value)}\n`).join(''),
  });
  expect(stderr).toBe('');
  return stdout.trimEnd().split('\n');
}

describe('a pattern of docs/openapi.yaml', () => {
  it('of a name refuses what every language can refuse', () => {
    const { pattern } = patterns.find(({ where }) => where === '/components/schemas/NewPet/properties/name')!;
    const codes = Array.from({ length: 0x80 }, (_, code) => code).filter(
      (code) => code < 0x20 || code > 0x7e,
    );
    for (const control of codes.map((code) => String.fromCodePoint(code)))
      for (const name of [`${control}Rex`, `R${control}x`, `Rex${control}`])
        expect(new RegExp(pattern).test(name)).toBe(false);
    // Long texts do not keep a client busy.
    const startedAt = performance.now();
    for (const long of ['x', ' '])
      expect(new RegExp(pattern).test(`${long.repeat(1_000_000)}\n`)).toBe(false);
    expect(performance.now() - startedAt).toBeLessThan(1_000);
  });

  it('is that of a header, or finds every text that the service takes', () => {
    const ofBodies = patterns.filter((found) => !isHeader(found));
    expect(ofBodies.map(({ where }) => where)).toContain('/components/schemas/NewPet/properties/name');
    expect(patterns.length).toBeGreaterThan(ofBodies.length + 5);
    const field = readableText(1, 255);
    expect(names.filter((name) => !field.safeParse(name).success)).toEqual([]);
    const refused = ofBodies.filter(({ pattern }) => !names.every((name) => new RegExp(pattern).test(name)));
    expect(refused).toEqual([]);
  });

  it.each(patterns)('finds the examples, and not every text: $where', (found) => {
    const answers = textsFor(found).map((value) => new RegExp(found.pattern).test(value));
    expect(new Set(answers)).toEqual(new Set([true, false]));
    expect(found.examples.filter((each) => !new RegExp(found.pattern).test(each))).toEqual([]);
  });

  // A pattern may have characters, classes of ASCII characters without `&&`, and `[\s\S]`, which is any character. It may not have `.`,
  // `\d`, `\w` or `(?=…)`.
  const alike = /^\^(?:(?:[\w ";,=<>@-]|\[\^?(?:\\s\\S|\\x[0-7][\dA-F]|[ -%'-Z^-~])+\])[+*]?)+\$$/;
  it.each(patterns)('has only what all languages read alike: $where', ({ pattern }) => {
    expect(pattern).toMatch(alike);
  });

  it.each(['', 'u'])('gives the same answer in three ways in JavaScript, flags "%s"', (flags) => {
    const different = questions.filter((each) => !['000', '111'].includes(inJavaScript(flags)(each)));
    expect(different).toEqual([]);
  });

  it.each(programs.filter(hasProgram))(
    'gives the answer of JavaScript in three ways in %s, but for a line break where a text ends',
    (_, command, program) => {
      const answers = answersOf(command, program);
      expect(answers).toHaveLength(questions.length);
      const asked = questions.map((each, index) => ({ ...each, answer: answers[index] }));
      // There, `$` also finds the place before the line break, so the client sends what the service refuses. No pattern that all
      // languages can read avoids this. As a whole, the text does not match.
      const isMore = ({ value, answer = '' }: (typeof asked)[number]) =>
        /[\n\r]/.test(value) && answer.endsWith('0');
      const different = asked.filter((each) => each.answer !== inJavaScript('u')(each));
      expect(different.filter((each) => !isMore(each))).toEqual([]);
    },
  );
});
