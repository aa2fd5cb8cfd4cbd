import { format } from 'prettier';
import { describe, expect, it } from 'vitest';
import { markdownTable, withGenerated } from '../../tools/generated.ts';

describe('The generated part of a document', () => {
  const document = 'Before\n<!-- generated: one -->\n\nold\n\n<!-- end -->\nAfter\n';

  it('replaces what stood there, and nothing around it', () => {
    expect(withGenerated(document, { one: 'new $& $1' })).toBe(document.replace('old', () => 'new $& $1'));
  });

  it('needs a place', () => {
    expect(() => withGenerated(document, { one: '', two: '' })).toThrow('The document has no place for two');
  });

  it('is missed where nothing generates it', () => {
    expect(() => withGenerated(document, {})).toThrow('Nothing is generated for one');
  });
});

describe('A Markdown table', () => {
  it('stands as Prettier would write it, with numbers to the right', async () => {
    const table = markdownTable(
      ['Name', 'A', 'Long heading'],
      [
        ['`x | y`'.replace('|', '/'), '1', '1,000.5'],
        ['é…', '< 0.01', '–'],
      ],
    );
    expect(table.split('\n')[1]).toBe('| ------- | -----: | -----------: |');
    expect(await format(table, { parser: 'markdown' })).toBe(`${table}\n`);
  });
});
