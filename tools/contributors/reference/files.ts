import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { parseDocument } from 'yaml';
import { commonHeaders, type Header, specialHeaders } from '../openapi/headers.ts';
import { baseUrl, localUrl } from '../openapi/introduction.ts';
import { guidePage, guideSection, htmlOf } from './guide.ts';

export interface ReferenceFile {
  /** Media type. */
  readonly type: string;
  readonly body: string;
}

const require = createRequire(import.meta.url);
const ownFile = (name: string) => join(import.meta.dirname, name);
const docsFile = (name: string) => join(import.meta.dirname, '..', '..', '..', 'docs', name);

/** The pages of docs/ for users of the API. The introduction of docs/openapi.yaml links to some. */
const guides = ['api', 'write-a-client', 'interface', 'limits'];
const linkedPages = new RegExp(String.raw`\b(?:${guides.join('|')})\.md\b`, 'g');

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
export function referenceFiles(server?: string): ReadonlyMap<string, ReferenceFile> {
  const read = (file: string) => readFileSync(file, 'utf8');
  const page = (content: string) => read(ownFile('page.html')).replace('<!-- content -->', () => content);
  const reference = `<div id="reference"${server === undefined ? '' : ' data-sends-requests'}></div>
    ${guideSection(headerTable)}
    <script src="swagger-ui-bundle.js"></script>`;
  const files = [
    ['/', 'text/html', page(reference)],
    ...guides.map((name) => [
      `/${name}.html`,
      'text/html',
      page(guidePage(read(docsFile(`${name}.md`)).replaceAll(localUrl, server ?? localUrl), guides)),
    ]),
    ['/page.js', 'text/javascript', read(ownFile('page.js'))],
    ['/page.css', 'text/css', read(ownFile('page.css'))],
    ['/swagger-ui.css', 'text/css', read(require.resolve('swagger-ui-dist/swagger-ui.css'))],
    [
      '/swagger-ui-bundle.js',
      'text/javascript',
      read(require.resolve('swagger-ui-dist/swagger-ui-bundle.js')),
    ],
    ['/openapi.yaml', 'application/yaml', served(read(docsFile('openapi.yaml')), server)],
  ] as const;
  return new Map(files.map(([path, type, body]) => [path, { type: `${type}; charset=utf-8`, body }]));
}

/** The headers that the page shows once, after the operations, each with the responses that have it. */
const shownOnce = [
  ...Object.entries(commonHeaders).map(([id, header]) => ({
    name: id,
    responses: 'Every response has it.',
    ...header,
  })),
  ...Object.entries<Header>(specialHeaders).flatMap(([id, { responses, ...header }]) =>
    responses === undefined ? [] : { name: id, responses, ...header },
  ),
];

const headerTable = `
## Headers of many responses

| Header | Meaning |
| --- | --- |
${shownOnce.map(({ name, responses, description }) => `| \`${name}\` | ${description} ${responses} |`).join('\n')}
`;

/**
 * The document as the page shows it: it links to the pages beside it, names the headers that the page shows once by their
 * description, and the server that the page sends requests to.
 */
function served(openApi: string, server: string | undefined): string {
  const text = openApi.replaceAll(linkedPages, htmlOf);
  const document = parseDocument(
    server === undefined ? text : text.replaceAll(baseUrl, server).replaceAll('as_prod_', 'as_local_'),
  );
  document.set(
    'x-shown-once',
    shownOnce.map((header) => header.description),
  );
  if (server !== undefined)
    document.set('servers', [{ url: server, description: 'The service on this machine.' }]);
  return document.toString();
}
