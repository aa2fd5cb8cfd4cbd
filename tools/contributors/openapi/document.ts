import { newKey } from '../../../functions/access/keys.ts';
import { maxBodyBytes } from '../../../functions/http/input.ts';
import { operationName, operations } from '../../../functions/operations.ts';
import { titleCase } from '../../../lib/title-case.ts';
import { components, errorResponses, successResponse } from './answers.ts';
import { baseUrl } from './headers.ts';
import { descriptions } from './operations.ts';
import { jsonContent, jsonSchemas, referenceTo } from './schemas.ts';

// The OpenAPI document: what the service enforces (functions/), and what is said of it here.

/** The page before the operations, in Markdown. */
const introduction = `The [guide](api.md) says more about [authentication](api.md#authenticate), \
[rate limits](api.md#stay-within-the-rate-limits), [paging](api.md#page-through-a-list), [errors](api.md#handle-errors), \
[retries](api.md#retry-safely) and [clients](write-a-client.md).

\`\`\`sh
export API=${baseUrl} KEY=as_prod_your_key
curl -sS -H "Authorization: Bearer $KEY" "$API/pets?limit=2"
\`\`\``;

const info = {
  title: 'Animal Store Service',
  version: '1.0.0',
  summary: 'Animals up for adoption: list, filter, add and fetch them.',
  description: introduction,
  contact: { name: 'The operator who issued your API key' },
  license: { name: 'MIT', identifier: 'MIT' },
};

const servers = [
  { url: baseUrl, description: 'A deployed stage: the output ApiUrl of its stack.' },
  { url: 'http://127.0.0.1:3000/v1', description: 'The service on this machine: npm start.' },
];

const apiKey = {
  type: 'http',
  scheme: 'bearer',
  description: `An API key: \`as_<stage>_<${newKey('prod').replace('as_prod_', '').length} letters and digits>\`.`,
};

const tagOf = (path: string): string => titleCase(path.split('/')[1]!);

/** The end of an operation in words. */
function removalInWords({ deprecated }: (typeof operations)[number]): string {
  if (deprecated === undefined) return '';
  const day = new Date(deprecated.removal).toLocaleDateString('en-GB', {
    dateStyle: 'long',
    timeZone: 'UTC',
  });
  return `This operation is deprecated and will be removed on ${day}. `;
}

function described(operation: (typeof operations)[number]) {
  const { entry, path, deprecated } = operation;
  const description = descriptions[entry];
  const { summary, parameters, request, success } = description;
  return {
    operationId: operationName(entry),
    tags: [tagOf(path)],
    summary,
    ...(deprecated && { deprecated: true }),
    description: removalInWords(operation) + description.description,
    parameters: Object.entries(parameters).map(([name, parameter]) => ({
      name,
      in: parameter.in,
      ...(parameter.in === 'path' && { required: true }),
      description: parameter.description,
      schema: typeof parameter.schema === 'string' ? referenceTo(parameter.schema) : parameter.schema,
    })),
    ...(request && {
      requestBody: {
        required: true,
        description: `At most ${maxBodyBytes / 1024} KiB.`,
        content: jsonContent(request, 'request'),
      },
    }),
    responses: {
      [success.status]: successResponse(operation, description),
      ...errorResponses(operation, description),
    },
  };
}

const tagDescriptions: Readonly<Record<string, string>> = {
  Pets: 'The animals of a stage, which all its API keys share. Clients cannot change or delete them.',
};

/** The document, with the links to other pages that only docs/interface.md has. */
export function describeWithLinks() {
  const paths: Record<string, Record<string, ReturnType<typeof described>>> = {};
  for (const operation of operations)
    (paths[operation.path] ??= {})[operation.method.toLowerCase()] = described(operation);
  return {
    openapi: '3.1.1',
    info,
    servers,
    security: [{ apiKey: [] }],
    tags: Array.from(new Set(operations.map(({ path }) => tagOf(path))), (name) => {
      const description = tagDescriptions[name];
      if (description === undefined) throw new Error(`${name} needs an entry in tagDescriptions.`);
      return { name, description };
    }),
    paths,
    components: { schemas: jsonSchemas(), ...components, securitySchemes: { apiKey } },
  };
}

/** The document, as docs/openapi.yaml has it: without ` ([text](page))`. */
export function describeService(): ReturnType<typeof describeWithLinks> {
  const link = / \(\[[^\]]+\]\([^)]+\)\)/g;
  const text = JSON.stringify(describeWithLinks(), (name, value: unknown) =>
    name === 'description' && typeof value === 'string' ? value.replaceAll(link, '') : value,
  );
  return JSON.parse(text) as ReturnType<typeof describeWithLinks>;
}
