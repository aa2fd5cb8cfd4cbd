import { newKey } from '../../../functions/access/keys.ts';
import { idempotencyKeys, maxBodyBytes } from '../../../functions/http/input.ts';
import { operationName, operations } from '../../../functions/operations.ts';
import { pageSize } from '../../../functions/pets/listing.ts';
import { titleCase } from '../../../lib/title-case.ts';
import { components, errorResponses, successResponse } from './answers.ts';
import { baseUrl } from './headers.ts';
import { operationText } from './interface.ts';
import { integer64, jsonContent, jsonSchemas, type Node, referenceTo } from './schemas.ts';

// The OpenAPI document: what the service enforces (functions/), in the words of docs/interface.md.

/** The page before the operations, in Markdown. */
const introduction = `The [guide](api.md) has complete programs, and says more about [authentication](api.md#authenticate), \
[rate limits](api.md#stay-within-the-rate-limits), [paging](api.md#page-through-a-list), [errors](api.md#handle-errors), \
[retries](api.md#retry-safely) and [int64](api.md#keep-int64-exact).

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

/** The types of parameters in docs/interface.md, and the limits of some. */
const types: Readonly<Record<string, Node>> = {
  integer: { type: 'integer', format: 'int32' },
  int64: integer64,
  string: { type: 'string', minLength: 1 },
};
const limits: Readonly<Record<string, Node>> = {
  limit: { minimum: pageSize.min, maximum: pageSize.max, default: pageSize.default },
  'Idempotency-Key': {
    maxLength: idempotencyKeys.maxLength,
    pattern: idempotencyKeys.pattern.source,
    examples: ['0b9d6f0e-6a0c-4f5f-9a7e-2f7c0c1d2e3f'],
  },
};

const tagOf = (path: string): string => titleCase(path.split('/')[1]!);

function described(operation: (typeof operations)[number]): Node {
  const { entry, method, path, request, success, deprecated } = operation;
  const { summary, description, parameters, answer } = operationText(method, path, operationName(entry));
  const removal = deprecated && new Date(deprecated.removal);
  const day = removal?.toLocaleDateString('en-GB', { dateStyle: 'long', timeZone: 'UTC' });
  if (!description.includes(day ?? ''))
    throw new Error(`docs/interface.md does not say that ${method} ${path} is removed on ${day}.`);
  const takesQuery = parameters.some(({ place }) => place === 'query');
  return {
    operationId: operationName(entry),
    tags: [tagOf(path)],
    summary,
    ...(deprecated && { deprecated: true }),
    description,
    parameters: parameters.map(({ name, place, type = '', words }) => ({
      name,
      in: place,
      ...(place === 'path' && { required: true }),
      description: words,
      schema: types[type] ? { ...types[type], ...limits[name] } : referenceTo(type),
    })),
    ...(request && {
      requestBody: {
        required: true,
        description: `At most ${maxBodyBytes / 1024} KiB.`,
        content: jsonContent(request, 'request'),
      },
    }),
    responses: {
      [success.status]: successResponse(operation, answer(success.status)),
      ...errorResponses(operation, takesQuery),
    },
  };
}

/** The document, as docs/openapi.yaml has it. */
export function describeService() {
  const paths: Record<string, Record<string, Node>> = {};
  for (const operation of operations)
    (paths[operation.path] ??= {})[operation.method.toLowerCase()] = described(operation);
  return {
    openapi: '3.1.1',
    info,
    servers,
    security: [{ apiKey: [] }],
    tags: Array.from(new Set(operations.map(({ path }) => tagOf(path))), (name) => ({
      name,
      description: `Operations under /${name.toLowerCase()}.`,
    })),
    paths,
    components: { schemas: jsonSchemas(), ...components, securitySchemes: { apiKey } },
  };
}
