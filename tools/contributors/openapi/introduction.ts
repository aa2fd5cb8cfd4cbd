import { newKey } from '../../../functions/access/keys.ts';

// The beginning of docs/openapi.yaml: what the service is called, where it is, and how to authenticate.

export const baseUrl = 'https://example.execute-api.us-east-1.amazonaws.com/v1';
/** The service on this machine, as `npm start` serves it. */
export const localUrl = 'http://127.0.0.1:3000/v1';

/** The page before the operations, in Markdown. */
const introduction = `The [guide](api.md) says more about [authentication](api.md#authenticate), \
[rate limits](api.md#stay-within-the-rate-limits), [paging](api.md#page-through-a-list), [errors](api.md#handle-errors), \
[retries](api.md#retry-safely) and [clients](write-a-client.md).

\`\`\`sh
export API=${baseUrl} KEY=as_prod_your_key
curl -sS -H "Authorization: Bearer $KEY" "$API/pets?limit=2"
\`\`\``;

export const info = {
  title: 'Animal Store Service',
  version: '1.0.0',
  summary: 'Animals up for adoption: list, filter, add and fetch them.',
  description: introduction,
  contact: { name: 'The operator who issued your API key' },
  license: { name: 'MIT', identifier: 'MIT' },
};

export const servers = [
  { url: baseUrl, description: 'A deployed stage: the output ApiUrl of its stack.' },
  { url: localUrl, description: 'The service on this machine: npm start.' },
];

export const apiKey = {
  type: 'http',
  scheme: 'bearer',
  description: `An API key: \`as_<stage>_<${newKey('prod').replace('as_prod_', '').length} letters and digits>\`.`,
};

/** The resources, by the first part of their paths. */
export const tags: Readonly<Record<string, string>> = {
  Pets: 'The animals of a stage, which all its API keys share. Clients cannot change or delete them.',
};
