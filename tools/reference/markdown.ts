import { Marked, type Token, type Tokens } from 'marked';
import { codeLines } from './highlight.ts';
import { Html, html } from './html.ts';

/** The pages of the reference for the files that the texts link to. Links to other files are shown as text. */
const pages: Readonly<Record<string, string>> = { 'api.md': 'api.html', 'openapi.yaml': 'openapi.json' };

const languages: Readonly<Record<string, string>> = {
  http: 'HTTP',
  json: 'JSON',
  sh: 'Shell',
  text: 'HTTP',
  ts: 'TypeScript',
};

const marked = new Marked({
  renderer: {
    heading({ tokens, depth, text }) {
      const address = anchor(text);
      return `<h${depth} id="${address}"><a href="#${address}">${this.parser.parseInline(tokens)}</a></h${depth}>`;
    },
    link({ href, tokens }) {
      const content = this.parser.parseInline(tokens);
      const [file = '', fragment] = href.split('#');
      const page = file === '' || file.includes('://') ? file : pages[file];
      if (page === undefined) return content;
      const address = fragment === undefined ? page : `${page}#${fragment}`;
      return html`<a href="${address}">${new Html(content)}</a>`.markup;
    },
    code: ({ text, lang }) => code(text, languages[lang ?? ''] ?? '').markup,
    table({ header, rows }) {
      const cells = (tag: string, row: readonly Tokens.TableCell[]) =>
        row.map(({ tokens }) => `<${tag}>${this.parser.parseInline(tokens)}</${tag}>`).join('');
      const body = rows.map((row) => `<tr>${cells('td', row)}</tr>`).join('');
      return `<div class="table" tabindex="0"><table><thead><tr>${cells('th', header)}</tr></thead><tbody>${body}</tbody></table></div>`;
    },
    // The guide shows pictures of the reference itself.
    image: () => '',
    // `as_<stage>` is text, not an element.
    html: ({ text }) => html`${text}`.markup,
  },
});

export function markdown(text: string): Html {
  return new Html(marked.parse(text, { async: false }));
}

export function inlineMarkdown(text: string): Html {
  return new Html(marked.parseInline(text, { async: false }));
}

export interface Section {
  /** Empty for what is before the first heading. */
  readonly heading: string;
  readonly text: Html;
  /** The blocks of code, if there are any. */
  readonly code?: Html | undefined;
}

/** The text cut at its headings of level 2, with prose and code apart. A colon before code would point at nothing. */
export function sections(text: string): Section[] {
  const parts: { heading: string; tokens: Token[] }[] = [{ heading: '', tokens: [] }];
  for (const token of marked.lexer(text.replaceAll(/:(?=\n+```)/g, '.'))) {
    if (token.type === 'heading' && token['depth'] === 2)
      parts.push({ heading: String(token['text']), tokens: [] });
    else parts.at(-1)!.tokens.push(token);
  }
  return parts.map(({ heading, tokens }) => {
    const { code: blocks, text: prose = [] } = Object.groupBy(tokens, ({ type }) =>
      type === 'code' ? 'code' : 'text',
    );
    return { heading, text: new Html(marked.parser(prose)), code: blocks && new Html(marked.parser(blocks)) };
  });
}

/** A block of code with a button that copies it. */
export function code(text: string, title: string): Html {
  return html`<figure class="code">
    <figcaption>${title}<button type="button" class="copy">Copy</button></figcaption>
    ${codeLines(text, title)}
  </figure>`;
}

/** As GitHub makes it, because api.md is linked to there, too. */
export function anchor(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\w -]/g, '')
    .replaceAll(' ', '-');
}
