import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { build } from 'esbuild';
import {
  type ApiDocument,
  examplesOf,
  openApiDocument,
  type Operation,
  operationsOf,
  readDocument,
  type Schema,
} from './document.ts';
import { keyPattern } from '../../functions/access/keys.ts';
import { errorCatalogue } from '../../functions/http/errors.ts';
import { type Html, html } from './html.ts';
import { type Assets, layout } from './layout.ts';
import { anchor, code, inlineMarkdown, markdown, type Section, sections } from './markdown.ts';
import {
  definitionList,
  deprecatedBadge,
  fieldList,
  fieldsOf,
  headingOf,
  methodBadge,
  operationSection,
} from './operation.ts';

export interface ReferencePage {
  /** Media type. */
  readonly type: string;
  readonly body: string;
}

export interface LocalReference {
  /** The base URL, such as `http://127.0.0.1:3000/v1`. */
  readonly url: string;
}

/** The address of the page that sends requests, with a key for them. Browsers do not send what follows `#`. */
export function withKey(page: string, key: string): string {
  return `${page}#key=${key}`;
}

/**
 * The files of the API reference by their path: two pages that load nothing, and the OpenAPI document.
 *
 * No page has an API key, because other users of the machine can load it: `withKey` adds one to its address.
 *
 * @param local where requests are sent, from the same origin; when absent the page cannot send requests
 * @param given an OpenAPI document in place of docs/openapi.yaml
 */
export async function referencePages(
  local?: LocalReference,
  given?: Readonly<Record<string, unknown>>,
): Promise<ReadonlyMap<string, ReferencePage>> {
  const source = given ?? (await openApiDocument());
  const document = readDocument(source);
  const [assets, guide] = await Promise.all([
    readAssets(),
    readFile(join(project, 'docs', 'api.md'), 'utf8'),
  ]);
  const page = (body: string): ReferencePage => ({ type: 'text/html; charset=utf-8', body });
  return new Map<string, ReferencePage>([
    ['/', page(referencePage(document, assets, local))],
    ['/api.html', page(guidePage(document, assets, { text: guide, home: local ? './' : 'index.html' }))],
    ['/openapi.json', { type: 'application/json', body: JSON.stringify(source, undefined, 2) }],
  ]);
}

const project = join(import.meta.dirname, '..', '..');

async function readAssets(): Promise<Assets> {
  const [style, bundle] = await Promise.all([
    readFile(join(import.meta.dirname, 'browser', 'style.css'), 'utf8'),
    build({
      entryPoints: [join(import.meta.dirname, 'browser', 'main.ts')],
      bundle: true,
      minify: true,
      format: 'iife',
      target: 'es2022',
      charset: 'utf8',
      write: false,
    }),
  ]);
  return { style, script: bundle.outputFiles[0]!.text };
}

function referencePage(document: ApiDocument, assets: Assets, local: LocalReference | undefined): string {
  const { info, components } = document;
  const operations = operationsOf(document);
  const elsewhere = {
    headers: headersOfEverySuccess(operations),
    errors: new Set(Object.values(components.responses).map(({ description }) => description)),
  };
  const [first, ...topics] = sections(info.description);
  const reference: Section[] = [
    { heading: 'Error codes', text: errorList(document) },
    { heading: 'Response headers', text: headerList(operations, elsewhere.headers) },
    ...returnedObjects(components.schemas, operations).map(([name, schema]) => ({
      heading: `${name} object`,
      text: html`${markdown(schema.description)}${fieldList(fieldsOf(schema))}`,
    })),
  ];
  return layout(`${info.title}: API reference`, assets, {
    navigation: html`<p><a href="#content">${info.title}</a></p>
      <ul>
        ${linksTo(topics)}
      </ul>
      <p>Operations</p>
      <ul>
        ${operations.map(
          ({ operationId, summary, method, deprecated }) =>
            html`<li>
              <a href="#${operationId}"
                >${summary}${deprecated ? deprecatedBadge : undefined} ${methodBadge(method)}</a
              >
            </li>`,
        )}
      </ul>
      <p>Reference</p>
      <ul>
        ${linksTo(reference)}
        <li><a href="api.html">API guide</a></li>
        <li><a href="openapi.json">OpenAPI document</a></li>
      </ul>`,
    content: html`<section>
        <div>
          <h1>${info.title}</h1>
          <p class="version">API reference, version ${info.version}</p>
          ${addresses(document, local)}${first?.text}
        </div>
        <div>${local === undefined ? first?.code : html`${setUp(local)}${keyField(local, document)}`}</div>
      </section>
      ${topics.map(topicSection)}
      ${operations.map((each) => operationSection(each, { ...elsewhere, sends: local !== undefined }))}
      ${reference.map(topicSection)}`,
  });
}

function linksTo(topics: readonly Section[]): Html[] {
  return topics.map(
    ({ heading }) =>
      html`<li>
        <a href="#${anchor(heading)}"><span>${inlineMarkdown(heading)}</span></a>
      </li>`,
  );
}

function topicSection({ heading, text, code: blocks }: Section): Html {
  return html`<section id="${anchor(heading)}" class="${blocks === undefined ? 'wide' : ''}">
    <div>${headingOf(anchor(heading), inlineMarkdown(heading))} ${text}</div>
    <div>${blocks}</div>
  </section>`;
}

/** Every error, also those of no operation, such as that of an unknown path. */
function errorList({ components }: ApiDocument): Html {
  return definitionList(
    Object.entries(errorCatalogue).map(([name, { status, message }]) => {
      const responses = Object.values(components.responses);
      const alone = responses.find((each) => Object.keys(examplesOf(each)).join() === name);
      const title = html`<span class="status" id="${name}">${status}</span> <code>${name}</code>`;
      return [title, alone?.description ?? message];
    }),
  );
}

/** The objects of responses. Those of requests are described where they are sent. */
function returnedObjects(schemas: Readonly<Record<string, Schema>>, operations: readonly Operation[]) {
  const sent = operations.map(({ requestBody }) => requestBody?.content['application/json'].schema);
  return Object.entries(schemas).filter(
    ([, schema]) => schema.type === 'object' && !sent.some((each) => isDeepStrictEqual(each, schema)),
  );
}

function addresses({ servers }: ApiDocument, local: LocalReference | undefined): Html {
  const bases =
    local === undefined ? servers : [{ url: local.url, description: 'The service on this machine.' }];
  return html`<h2 class="small">Base URL</h2>
    ${definitionList(bases.map(({ url, description }) => [html`<code>${url}</code>`, description]))}`;
}

function setUp({ url }: LocalReference): Html {
  const lines = [
    `export API=${url}`,
    'export KEY=YOUR_KEY',
    'curl -sS -H "Authorization: Bearer $KEY" "$API/pets?limit=2"',
  ];
  return code(lines.join('\n'), 'In a terminal');
}

function keyField({ url }: LocalReference, { components }: ApiDocument): Html {
  return html`<div class="api-key">
    <label for="key"><strong>API key for the requests of this page</strong></label>
    <p>${inlineMarkdown(components.securitySchemes.apiKey.description)}</p>
    <input
      id="key"
      placeholder="Open the address that npm start prints, or paste a key"
      data-base="${url.slice(new URL(url).origin.length)}"
      pattern="${keyPattern.source}"
      autocomplete="off"
      spellcheck="false"
    />
    <p role="status"></p>
  </div>`;
}

function headersOfEverySuccess(operations: readonly Operation[]): ReadonlySet<string> {
  const sets = operations.map(({ responses }) => {
    const success = Object.entries(responses).find(([status]) => status.startsWith('2'));
    return new Set(Object.keys(success?.[1].headers ?? {}));
  });
  return sets.reduce((one, other) => one.intersection(other));
}

/** The headers that every success has, and those that only errors have. */
function headerList(operations: readonly Operation[], common: ReadonlySet<string>): Html {
  const responses = operations.flatMap((operation) => Object.entries(operation.responses));
  const ofSuccesses = new Set(
    responses.flatMap(([status, { headers }]) => (status.startsWith('2') ? Object.keys(headers) : [])),
  );
  const described = responses.flatMap(([, { headers }]) => Object.entries(headers));
  const shown = new Map(described.filter(([name]) => common.has(name) || !ofSuccesses.has(name)));
  return definitionList(
    [...shown].map(([name, { description }]) => [html`<code>${name}</code>`, description]),
  );
}

function guidePage(
  { info }: ApiDocument,
  assets: Assets,
  { text, home }: { readonly text: string; readonly home: string },
): string {
  const topics = sections(text).filter(({ heading }) => heading !== '');
  return layout(`${info.title}: API guide`, assets, {
    navigation: html`<p><a href="${home}">${info.title}</a></p>
      <ul>
        ${linksTo(topics)}
      </ul>`,
    content: html`<article>${markdown(text)}</article>`,
  });
}
