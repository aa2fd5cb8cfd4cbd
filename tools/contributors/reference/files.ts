import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { parseDocument } from 'yaml';

export interface ReferenceFile {
  /** Media type. */
  readonly type: string;
  readonly body: string;
}

const documents = join(import.meta.dirname, '..', '..', '..', 'docs');
const require = createRequire(import.meta.url);

/** The address of the page that sends requests, with a key for them. Browsers do not send what follows `#`. */
export function withKey(page: string, key: string): string {
  return `${page}#key=${key}`;
}

/**
 * The files of the API reference by their path: Swagger UI with docs/openapi.yaml. They load nothing from another host.
 *
 * No file has an API key, because other users of the machine can load them: `withKey` adds one to the address.
 *
 * @param server base URL that the page sends requests to, of the same origin; when absent the page sends none
 */
export async function referenceFiles(server?: string): Promise<ReadonlyMap<string, ReferenceFile>> {
  const [openApi, guide, script, style, swaggerStyle, bundle] = await Promise.all([
    readFile(join(documents, 'openapi.yaml'), 'utf8'),
    readFile(join(documents, 'api.md'), 'utf8'),
    readFile(join(import.meta.dirname, 'page.js'), 'utf8'),
    readFile(join(import.meta.dirname, 'page.css'), 'utf8'),
    readFile(require.resolve('swagger-ui-dist/swagger-ui.css'), 'utf8'),
    readFile(require.resolve('swagger-ui-dist/swagger-ui-bundle.js'), 'utf8'),
  ]);
  const file = (type: string, body: string): ReferenceFile => ({ type: `${type}; charset=utf-8`, body });
  return new Map([
    ['/', file('text/html', page(server !== undefined))],
    ['/page.js', file('text/javascript', script)],
    ['/page.css', file('text/css', style)],
    ['/swagger-ui.css', file('text/css', swaggerStyle)],
    ['/swagger-ui-bundle.js', file('text/javascript', bundle)],
    ['/openapi.yaml', file('application/yaml', server === undefined ? openApi : onServer(openApi, server))],
    // The introduction links to it. As plain text, browsers show it.
    ['/api.md', file('text/plain', guide)],
  ]);
}

function onServer(openApi: string, url: string): string {
  const document = parseDocument(openApi);
  document.set('servers', [{ url, description: 'The service on this machine.' }]);
  return document.toString();
}

// Swagger UI sets style attributes, and has pictures in its style sheet.
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

const page = (sendsRequests: boolean): string => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta http-equiv="Content-Security-Policy" content="${policy}" />
    <title>Animal Store Service: API reference</title>
    <link rel="icon" href="data:," />
    <link rel="stylesheet" href="swagger-ui.css" />
    <link rel="stylesheet" href="page.css" />
  </head>
  <body>
    <div id="reference"${sendsRequests ? ' data-sends-requests' : ''}></div>
    <script src="swagger-ui-bundle.js"></script>
    <script src="page.js"></script>
  </body>
</html>
`;
