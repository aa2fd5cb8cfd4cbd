import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { parseDocument } from 'yaml';
import { baseUrl } from '../openapi/headers.ts';
import { guidePage, htmlOf } from './guide.ts';

export interface ReferenceFile {
  /** Media type. */
  readonly type: string;
  readonly body: string;
}

const documents = join(import.meta.dirname, '..', '..', '..', 'docs');
const require = createRequire(import.meta.url);

/** The pages of docs/ for users of the API. The introduction of docs/openapi.yaml links to the first. */
const guides = ['api', 'interface', 'limits'];

/** The address of the page that sends requests, with a key for them. Browsers do not send what follows `#`. */
export function withKey(page: string, key: string): string {
  return `${page}#key=${key}`;
}

/**
 * The files of the API reference by their path: Swagger UI with docs/openapi.yaml, and the guide. They load nothing from
 * another host.
 *
 * No file has an API key, because other users of the machine can load them: `withKey` adds one to the address.
 *
 * @param server base URL that the page sends requests to, of the same origin; when absent the page sends none
 */
export async function referenceFiles(server?: string): Promise<ReadonlyMap<string, ReferenceFile>> {
  const read = (folder: string, name: string) => readFile(join(folder, name), 'utf8');
  const [openApi, script, style, swaggerStyle, bundle] = await Promise.all([
    read(documents, 'openapi.yaml'),
    read(import.meta.dirname, 'page.js'),
    read(import.meta.dirname, 'page.css'),
    readFile(require.resolve('swagger-ui-dist/swagger-ui.css'), 'utf8'),
    readFile(require.resolve('swagger-ui-dist/swagger-ui-bundle.js'), 'utf8'),
  ]);
  const file = (type: string, body: string): ReferenceFile => ({ type: `${type}; charset=utf-8`, body });
  const reference = `<div id="reference"${server === undefined ? '' : ' data-sends-requests'}></div>
    <script src="swagger-ui-bundle.js"></script>`;
  const guidePages = guides.map(async (name) => {
    const html = guidePage(await read(documents, `${name}.md`), guides);
    return [`/${name}.html`, file('text/html', page(html))] as const;
  });
  return new Map([
    ['/', file('text/html', page(reference))],
    ['/page.js', file('text/javascript', script)],
    ['/page.css', file('text/css', style)],
    ['/swagger-ui.css', file('text/css', swaggerStyle)],
    ['/swagger-ui-bundle.js', file('text/javascript', bundle)],
    ['/openapi.yaml', file('application/yaml', served(openApi, server))],
    ...(await Promise.all(guidePages)),
  ]);
}

/** The document as the page shows it: it links to the guide beside it, and names the server that it sends requests to. */
function served(openApi: string, server: string | undefined): string {
  const text = openApi.replaceAll(/\bapi\.md\b/g, htmlOf);
  if (server === undefined) return text;
  const document = parseDocument(text.replaceAll(baseUrl, server).replaceAll('as_prod_', 'as_local_'));
  document.set('servers', [{ url: server, description: 'The service on this machine.' }]);
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

const page = (content: string): string => `<!doctype html>
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
    ${content}
    <script src="page.js"></script>
  </body>
</html>
`;
