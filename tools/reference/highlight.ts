import { type Html, html } from './html.ts';

/** A part of a program text and what it is; plain text has no kind. */
export interface Token {
  readonly kind: string | undefined;
  readonly text: string;
}

/** Shell, TypeScript, Python, JSON and HTTP are close enough in their strings, numbers and comments. */
const syntax = new RegExp(
  [
    String.raw`(?<comment>(?<=^|\s)(?:#|//).*$)`,
    String.raw`(?<key>"(?:[^"\\\n]|\\.)*"(?=:)|^[\w-]+(?=: ))`,
    String.raw`(?<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|` + '`[^`]*`)',
    String.raw`(?<keyword>\b(?:as|async|await|const|curl|def|export|for|from|import|in|new|of|return|while|with)\b(?!-))`,
    String.raw`(?<number>(?<![\w.:/-])-?\d+(?:\.\d+)?(?![\w.]))`,
  ].join('|'),
  'gm',
);

/** The parts of a program text; joined, they are the text. */
export function highlight(code: string): Token[] {
  const tokens: Token[] = [];
  let end = 0;
  for (const { 0: text, index, groups = {} } of code.matchAll(syntax)) {
    if (index > end) tokens.push({ kind: undefined, text: code.slice(end, index) });
    tokens.push({ kind: Object.keys(groups).find((name) => groups[name] !== undefined), text });
    end = index + text.length;
  }
  return [...tokens, { kind: undefined, text: code.slice(end) }];
}

/** A block of code. A reader with a keyboard can scroll it. */
export function codeLines(text: string, label: string): Html {
  const tokens = highlight(text).map(({ kind, text: part }) =>
    kind === undefined ? part : html`<span class="${kind}">${part}</span>`,
  );
  return html`<pre tabindex="0" role="group" aria-label="${label}"><code>${tokens}</code></pre>`;
}
