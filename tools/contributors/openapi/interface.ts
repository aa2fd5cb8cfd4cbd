import { readFileSync } from 'node:fs';
import { join } from 'node:path';

// What docs/interface.md says of the operations and of their JSON: the words and the samples of docs/openapi.yaml.

const page = join(import.meta.dirname, '..', '..', '..', 'docs', 'interface.md');

/** `- NAME (PLACE, TYPE): WORDS`, such as `` - `limit` (query, integer): maximum number of animals ``. */
interface Item {
  readonly name: string;
  readonly place?: string | undefined;
  readonly type?: string | undefined;
  readonly words: string;
}

interface Section {
  readonly title: string;
  readonly paragraphs: readonly string[];
  readonly items: readonly Item[];
  readonly sample: Readonly<Record<string, unknown>>;
}

/** By their headings, without numbers. */
const sections = new Map(
  readFileSync(page, 'utf8')
    .split(/^#{2,} (?:[\d.]+ )?/m)
    .map(readSection)
    .map((section) => [section.title, section]),
);

function readSection(text: string): Section {
  const [title = '', ...blocks] = text.trim().split(/\n{2,}/);
  const isText = (block: string) => !/^(?:- |```|\d+\. )/.test(block);
  const lists = blocks.filter((block) => block.startsWith('- '));
  const sample = /^```json\n(.+)\n```$/ms.exec(text)?.[1] ?? '{}';
  return {
    title: title.replace(/ \(.*/, ''),
    paragraphs: blocks.filter(isText).map(plain),
    items: lists.flatMap((list) => list.split(/^- /m).slice(1).map(readItem)),
    sample: JSON.parse(sample) as Record<string, unknown>,
  };
}

function readItem(text: string): Item {
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

function sectionOf(title: string): Section {
  const section = sections.get(title);
  if (section === undefined) throw new Error(`docs/interface.md has no section "${title}".`);
  return section;
}

/**
 * The words and the sample of the JSON with this name. What its section does not say of a field is that of the JSON that it
 * names first: a NewPet is a Pet.
 */
export function bodyText(name: string) {
  const { paragraphs, items, sample } = sectionOf(name);
  const [base] =
    paragraphs
      .join(' ')
      .match(/\b[A-Z]\w+\b/g)
      ?.filter((word) => sections.has(word)) ?? [];
  const all = [...items, ...(base === undefined ? [] : sectionOf(base).items)];
  return {
    description: paragraphs.join(' '),
    sample,
    /** @throws Error when nothing is said of the field, or whether it is optional is said otherwise */
    field: (field: string, isOptional: boolean) => {
      const said = all.find((item) => item.name === field)?.words ?? '';
      const [, type = '', words] = /^(.*?)\. ?(.*)$/.exec(said) ?? [];
      if (!words) throw new Error(`docs/interface.md says nothing of \`${field}\` in the section "${name}".`);
      if (type.endsWith(', optional') !== isOptional) {
        const problem = isOptional ? 'does not say that it is optional' : 'says that it is optional';
        throw new Error(`docs/interface.md ${problem}: \`${field}\` in the section "${name}".`);
      }
      return { description: words, ...(field in sample && { examples: [sample[field]] }) };
    },
  };
}

/** The words of the operation whose section begins with its method, path and name. */
export function operationText(method: string, path: string, name: string) {
  const first = `\`${method} ${path}\`, operation \`${name}\`.`;
  const section = [...sections.values()].find(({ paragraphs }) => paragraphs[0]?.startsWith(first));
  if (section === undefined) throw new Error(`docs/interface.md has no section that begins with: ${first}`);
  const { title, paragraphs, items } = section;
  return {
    summary: title,
    description: paragraphs.slice(1).join(' '),
    parameters: items.filter(({ place }) => place !== undefined),
    /** @throws Error when nothing is said of the status */
    response: (status: number) => {
      const found = items.find((item) => item.name === String(status));
      if (found === undefined)
        throw new Error(`docs/interface.md says nothing of ${status} in the section "${title}".`);
      return found.words;
    },
  };
}
