import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';

export interface ReferencePage {
  /** Media type. */
  readonly type: string;
  readonly body: string | Buffer;
}

export interface LocalReference {
  /** The path of the stage on the same origin, such as `/v1`. */
  readonly basePath: string;
  /** The API key for the requests of the page. */
  readonly key: string;
}

/**
 * The files of the API reference by their path: Swagger UI with the OpenAPI document. Nothing is loaded from other origins.
 *
 * @param local the stage and API key for requests; when absent the page cannot send requests
 */
export async function referencePages(local?: LocalReference): Promise<ReadonlyMap<string, ReferencePage>> {
  const swaggerUi = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
  const files = await Promise.all(
    Object.entries(swaggerUiFiles).map(
      async ([name, type]) => [`/${name}`, { type, body: await readFile(join(swaggerUi, name)) }] as const,
    ),
  );
  const document = await openApiDocument();
  const spec = local === undefined ? document : { ...document, servers: [{ url: local.basePath }] };
  return new Map<string, ReferencePage>([
    ['/', { type: 'text/html; charset=utf-8', body: page(document.info.title) }],
    ['/reference.js', { type: 'text/javascript; charset=utf-8', body: script(spec, local?.key) }],
    ['/openapi.json', { type: 'application/json', body: JSON.stringify(document, undefined, 2) }],
    ...files,
  ]);
}

const documentFile = join(import.meta.dirname, '..', '..', 'docs', 'openapi.yaml');
const documentSchema = z.looseObject({ info: z.looseObject({ title: z.string() }) });

async function openApiDocument(): Promise<z.infer<typeof documentSchema>> {
  return documentSchema.parse(parse(await readFile(documentFile, 'utf8')));
}

const swaggerUiFiles = {
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'swagger-ui.css': 'text/css; charset=utf-8',
  'favicon-32x32.png': 'image/png',
};

/** With this policy the browser blocks requests to other origins. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

function page(title: string): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta http-equiv="Content-Security-Policy" content="${contentSecurityPolicy}" />
    <title>${title}: API reference</title>
    <link rel="icon" href="favicon-32x32.png" />
    <link rel="stylesheet" href="swagger-ui.css" />
  </head>
  <body>
    <div id="swagger-ui"></div>
    <script src="swagger-ui-bundle.js"></script>
    <script src="reference.js"></script>
  </body>
</html>
`;
}

/** The document is part of the script: a page opened from a folder cannot fetch it. */
function script(spec: object, key: string | undefined): string {
  const options = {
    spec,
    dom_id: '#swagger-ui',
    deepLinking: true,
    docExpansion: 'full',
    displayRequestDuration: true,
    // The default sends the document to an online validator.
    validatorUrl: null,
    tryItOutEnabled: key !== undefined,
    ...(key === undefined && { supportedSubmitMethods: [] }),
  };
  return `const ui = SwaggerUIBundle({
  ...${JSON.stringify(options)},
  onComplete: () => ${key === undefined ? 'undefined' : `ui.preauthorizeApiKey('apiKey', ${JSON.stringify(key)})`},
});
`;
}
