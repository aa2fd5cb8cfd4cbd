import { createHash } from 'node:crypto';
import { Html, html } from './html.ts';

export interface Assets {
  readonly style: string;
  readonly script: string;
}

/** A whole page in one file. It loads nothing, and the browser blocks requests to other origins. */
export function layout(
  title: string,
  { style, script }: Assets,
  { navigation, content }: { readonly navigation: Html; readonly content: Html },
): string {
  const policy = [
    "default-src 'none'",
    `script-src ${hashOf(script)}`,
    `style-src ${hashOf(style)}`,
    'img-src data:',
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta http-equiv="Content-Security-Policy" content="${policy}" />
        <title>${title}</title>
        <link rel="icon" href="${icon}" />
        ${element('style', style)}
      </head>
      <body>
        <a class="skip" href="#content">Skip to the content</a>
        <nav aria-label="Contents">
          <details open>
            <summary>Contents</summary>
            ${navigation}
            <p class="hint">To search, find in page: Ctrl-F or ⌘F</p>
          </details>
        </nav>
        <main id="content">${content}</main>
        ${element('script', script)}
      </body>
    </html>`.markup;
}

const icon =
  "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 100 100'><text y='.9em' font-size='90'>🐾</text></svg>";

/** Without white space around the content, which would change its hash. */
function element(tag: string, content: string): Html {
  return new Html(`<${tag}>${content}</${tag}>`);
}

function hashOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}
