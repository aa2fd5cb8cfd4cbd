import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { indentJson } from '../../tools/reference/browser/indent-json.ts';
import { highlight } from '../../tools/reference/highlight.ts';
import { html } from '../../tools/reference/html.ts';
import { inlineMarkdown, markdown } from '../../tools/reference/markdown.ts';
import { referencePages } from '../../tools/reference/pages.ts';

describe('The API reference', () => {
  it('offers the whole document', async () => {
    const offered: unknown = JSON.parse((await referencePages()).get('/openapi.json')!.body);
    expect(offered).toEqual(parse(readFileSync('docs/openapi.yaml', 'utf8')));
  });

  it('links only to pages that it has, and to headings that they have', async () => {
    const pages = await referencePages();
    const textOf = (path: string) => pages.get(path)!.body;
    for (const path of ['/', '/api.html']) {
      const links = [...textOf(path).matchAll(/<a\b[^>]*\bhref="([^"]*)"/g)].map(([, href = '']) => href);
      expect(links.length).toBeGreaterThan(5);
      const broken = links.filter((link) => {
        if (link.startsWith('https://')) return false;
        const [file, fragment] = link.split('#');
        const target = file === '' ? path : `/${file === 'index.html' ? '' : file}`;
        return !pages.has(target) || (fragment !== undefined && !textOf(target).includes(`id="${fragment}"`));
      });
      expect(broken).toEqual([]);
    }
  });
});

describe('Markup', () => {
  it('escapes values, and joins lists of markup', () => {
    expect(html`<p title="${'"<&>\''}">${[html`<b>1</b>`, undefined, 2]}</p>`.markup).toBe(
      '<p title="&#34;&#60;&#38;&#62;&#39;"><b>1</b>2</p>',
    );
  });

  it('shows what looks like an element in a text', () => {
    expect(inlineMarkdown('as_<stage>_1').markup).toBe('as_&#60;stage&#62;_1');
    expect(markdown('`as_<stage>_1`').markup).toBe('<p><code>as_&lt;stage&gt;_1</code></p>\n');
  });

  it('links to the pages of the reference, and shows links to other files as text', () => {
    expect(inlineMarkdown('[a](api.md#x-y) [b](interface.md) [c](https://d.example/)').markup).toBe(
      '<a href="api.html#x-y">a</a> b <a href="https://d.example/">c</a>',
    );
  });
});

describe('A response in the API reference', () => {
  it('keeps every digit of an int64', () => {
    expect(indentJson('[{"id":9223372036854775807,"names":[],"a b":{ }},-1]')).toBe(
      '[\n  {\n    "id": 9223372036854775807,\n    "names": [],\n    "a b": {}\n  },\n  -1\n]',
    );
  });

  it('is what JSON.stringify would write, for numbers that JavaScript keeps', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(undefined, 1), (value, space) => {
        expect(indentJson(JSON.stringify(value, undefined, space))).toBe(JSON.stringify(value, undefined, 2));
      }),
    );
  });

  it('that is not JSON is shown as it is', () => {
    expect(indentJson('<html> { </html>')).toBe('<html> { </html>');
  });

  it('keeps its text when it is highlighted', () => {
    const part = fc.constantFrom('"', "'", '`', '\\', '# ', '//', '\n', '12', 'const', ': ', '<', 'a', '-');
    fc.assert(
      fc.property(fc.array(part), (parts) => {
        const tokens = highlight(parts.join(''));
        expect(tokens.map(({ text }) => text).join('')).toBe(parts.join(''));
      }),
    );
  });
});
