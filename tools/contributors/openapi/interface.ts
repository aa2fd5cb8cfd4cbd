import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { titleCase } from '../../../lib/title-case.ts';

// What docs/interface.md says of the operations and of their JSON: the words and the samples of docs/openapi.yaml.

const page = join(import.meta.dirname, '..', '..', '..', 'docs', 'interface.md');

/** By their headings, without numbers. */
const sections = new Map(
  readFileSync(page, 'utf8')
    .split(/^#{2,} (?:[\d.]+ )?/m)
    .map(readSection)
    .map((section) => [section.title, section]),
);

function readSection(text: string) {
  const [title = '', ...blocks] = text.trim().split(/\n{2,}/);
  const isText = (block: string) => !/^(?:- |```|\d+\. )/.test(block);
  const lists = blocks.filter((block) => block.startsWith('- '));
  const sample = /^```json\n(.+)\n```$/ms.exec(text)?.[1] ?? '{}';
  return {
    title: title.replace(/ \(.*/, ''),
    paragraphs: blocks.filter(isText).map(plain),
    items: lists.flatMap((list) => list.split(/^- /m).slice(1).map(readItem)),
    sample: JSON.parse(sample) as Readonly<Record<string, unknown>>,
  };
}

/** `- NAME (PLACE, TYPE): WORDS`, such as `` - `limit` (query, integer): maximum number of animals ``. */
function readItem(text: string) {
  const [, name = '', place, type, words = ''] =
    /^`?([\w-]+)`?(?:, \d+)*(?: \((\w+)(?:, (\w+))?\))?: (.+)$/.exec(plain(text)) ?? [];
  return { name, place, type, words: words.charAt(0).toUpperCase() + words.slice(1) };
}

/** Without line breaks, links and the mark of what this project has decided. */
function plain(markdown: string): string {
  return markdown
    .trim()
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/\*\*Decided:\*\* /g, '')
    .replaceAll(/ \(\[[^)]+\)\)/g, '')
    .replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1');
}

/** @throws Error when the page does not have it */
function found<Part>(part: Part | undefined, what: string): Part {
  if (part === undefined) throw new Error(`docs/interface.md does not have ${what}.`);
  return part;
}

const sectionOf = (title: string) => found(sections.get(title), `the section "${title}"`);

/**
 * The words and the sample of the JSON with this name. What its section does not say of a field is that of the JSON that it
 * names first: a NewPet is a Pet.
 */
export function bodyText(name: string) {
  const { paragraphs, items, sample } = sectionOf(name);
  const description = paragraphs.join(' ');
  const base = description.match(/\b[A-Z]\w+\b/g)?.find((word) => sections.has(word));
  const all = [...items, ...(base === undefined ? [] : sectionOf(base).items)];
  return {
    description,
    sample,
    /** @throws Error when nothing is said of the field, or whether it is optional is said otherwise */
    field: (field: string, isOptional: boolean) => {
      const where = `\`${field}\` in the section "${name}"`;
      const said = all.find((item) => item.name === field)?.words ?? '';
      const [, type = '', words] = /^(.*?)\. ?(.+)$/.exec(said) ?? [];
      const text = {
        description: found(words, where),
        ...(field in sample && { examples: [sample[field]] }),
      };
      if (type.endsWith(', optional') === isOptional) return text;
      const problem = isOptional ? 'does not say that it is optional' : 'says that it is optional';
      throw new Error(`docs/interface.md ${problem}: ${where}.`);
    },
  };
}

/** The words of the operation whose section begins with its method, path and name. */
export function operationText(method: string, path: string, name: string) {
  const first = `\`${method} ${path}\`, operation \`${name}\`.`;
  const section = [...sections.values()].find(({ paragraphs }) => paragraphs[0]?.startsWith(first));
  const { title, paragraphs, items } = found(section, `a section that begins with ${first}`);
  const answer = (status: number) => items.find((item) => item.name === String(status))?.words;
  return {
    summary: title,
    description: paragraphs.slice(1).join(' '),
    parameters: items.filter(({ place }) => place !== undefined),
    answer: (status: number) => found(answer(status), `${status} in the section "${title}"`),
  };
}

/** The name and the words of a header. `Next-Link` is the one of `` - `Link` (next): WORDS ``. */
export function headerText(id: string) {
  const { items } = sectionOf('Headers of responses');
  const item = items.find(({ name, place }) => id === (place ? `${titleCase(place)}-${name}` : name));
  const { name, words } = found(item, `the header ${id}`);
  return { name, description: words };
}
