import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { errorCatalogue } from '../../functions/http/errors.ts';
import { indentJson } from '../../tools/reference/browser/indent-json.ts';
import { sampleWith } from '../../tools/reference/browser/samples.ts';
import { openApiDocument, operationsOf, readDocument } from '../../tools/reference/document.ts';
import { highlight } from '../../tools/reference/highlight.ts';
import { html } from '../../tools/reference/html.ts';
import { inlineMarkdown, markdown } from '../../tools/reference/markdown.ts';
import { referencePages } from '../../tools/reference/pages.ts';

const responses = { 204: { description: 'Removed.' }, 404: { description: 'Absent.' } };

describe('The API reference', () => {
  it('offers the whole document', async () => {
    const offered: unknown = JSON.parse((await referencePages()).get('/openapi.json')!.body);
    expect(offered).toEqual(parse(readFileSync('docs/openapi.yaml', 'utf8')));
  });

  it('describes every error code once, with the text of the document', async () => {
    const page = (await referencePages()).get('/')!.body;
    for (const [code, { status }] of Object.entries(errorCatalogue)) {
      expect(page.split(`id="${code}"`)).toHaveLength(2);
      expect(page).toContain(`id="${code}">${status}</span> <code>${code}</code>`);
    }
    expect(page).toContain('The request is not valid. The message names every invalid field.');
    expect(page).toContain('This path does not exist.');
  });

  it('has no text that ends in a colon where its code is in another column', async () => {
    const page = (await referencePages()).get('/')!.body;
    expect(page).toContain('list the newest animals.');
    expect(page).not.toMatch(/:\s*<\/p>\s*<\/div>/);
  });

  it('shows code in the contents of the guide', async () => {
    const page = (await referencePages()).get('/api.html')!.body;
    expect(page).toContain('<span>Move off <code>GET /pets/{petId}</code></span>');
    expect(page.split('<main')[0]).not.toContain('`');
  });

  it('shows an operation with as little as OpenAPI asks for, such as a response without content', async () => {
    const source = z.record(z.string(), z.unknown()).parse(parse(readFileSync('docs/openapi.yaml', 'utf8')));
    const paths = { '/pets/{id}': { delete: { operationId: 'deletePet', summary: 'Remove', responses } } };
    const pages = await referencePages({ url: 'http://127.0.0.1:3000/v1' }, { ...source, paths });
    const page = pages.get('/')!.body;
    expect(page).toContain('No body.');
    expect(page).toContain('DELETE');
    expect(page).not.toContain('undefined');
    expect(JSON.parse(pages.get('/openapi.json')!.body)).toHaveProperty('paths', paths);
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

describe('The pictures of the API reference', () => {
  it.each(['introduction', 'operation'])('show the %s 1,280 pixels wide, in less than 200 KB', (name) => {
    const image = readFileSync(`docs/images/reference-${name}.png`);
    expect(image.length).toBeLessThan(200_000);
    // The width in a PNG's header.
    expect(image.readUInt32BE(16)).toBe(1280);
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

describe('A sample in the API reference', async () => {
  const operations = operationsOf(readDocument(await openApiDocument()));
  /** Lines of a sample of the document that values change. */
  function changed(operationId: string, label: string, ...values: Parameters<typeof sampleWith>[2]) {
    const operation = operations.find((each) => each.operationId === operationId)!;
    const { source } = operation['x-codeSamples'].find((each) => each.label === label)!;
    const before = source.split('\n');
    return sampleWith(source, label, values)
      .split('\n')
      .filter((line) => !before.includes(line));
  }
  const field = (place: string, name: string, value: string, example = '') => ({
    place,
    name,
    value,
    example,
  });
  const body = (value: string) => field('body', 'body', value, '{\n  "name": "Rex",\n  "categoryId": 7\n}');
  const example = '115448523194368';

  it.each(
    operations.flatMap(({ operationId, 'x-codeSamples': samples }) =>
      samples.map((each) => ({ ...each, operationId })),
    ),
  )('of $operationId in $label is as documented while the form is empty', ({ label, source }) => {
    const empty = [field('query', 'limit', '', '20'), field('path', 'petId', '', example)];
    expect(sampleWith(source, label, [...empty, body('{\n  "name": "Rex",\n  "categoryId": 7\n}')])).toBe(
      source,
    );
    expect(sampleWith(source, label, [body('{ not JSON')])).toBe(source);
  });

  it.each([
    ['curl', ['  "$API/pets?limit=5&status=sold&cursor=a%22%24"']],
    ['Python', ['    os.environ["API"] + "/pets?limit=5&status=sold&cursor=a%22%24",']],
    ['TypeScript', [`const pets = store.pets.list({ limit: 5, status: 'sold', cursor: 'a"$' });`]],
  ])('in %s has the query', (label, expected) => {
    const query = [
      ['limit', '5'],
      ['status', 'sold'],
      ['cursor', 'a"$'],
    ] as const;
    expect(changed('listPets', label, ...query.map(([name, value]) => field('query', name, value)))).toEqual(
      expected,
    );
  });

  it.each([
    ['curl', '9', ['  "$API/pets/9"']],
    ['Python', 'a"b', ['    os.environ["API"] + "/pets/a%22b",']],
    ['TypeScript', '9223372036854775807', ['const pet = await store.pets.get(9223372036854775807n);']],
    ['TypeScript', "a'b", [String.raw`const pet = await store.pets.get('a\'b');`]],
  ])('in %s has the path parameter %s', (label, value, expected) => {
    expect(changed('getPet', label, field('path', 'petId', value, example))).toEqual(expected);
  });

  it.each([
    [
      'curl',
      [
        '  -H "Idempotency-Key: \\$a\\"" \\',
        String.raw`  -d '{ "name": "O'\''Hara", "tame": true, "categoryId": 9223372036854775807 }' "$API/pets"`,
      ],
    ],
    [
      'Python',
      [
        `    data=json.dumps({ "name": "O'Hara", "tame": True, "categoryId": 9223372036854775807 }).encode(),`,
        String.raw`        "Idempotency-Key": "$a\"",`,
      ],
    ],
    [
      'TypeScript',
      [
        `const rex = { "name": "O'Hara", "tame": true, "categoryId": 9223372036854775807n };`,
        `const pet = await store.pets.create(rex, { idempotencyKey: '$a"' });`,
      ],
    ],
  ])('in %s has the header and the body, with every digit', (label, expected) => {
    const text = `{\n  "name": "O'Hara", "tame": true,\n  "categoryId": 9223372036854775807\n}`;
    expect(changed('createPet', label, field('header', 'Idempotency-Key', '$a"'), body(text))).toEqual(
      expected,
    );
  });
});
