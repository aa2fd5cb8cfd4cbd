/** Uses openapi-fetch with the types that openapi-typescript wrote. */
import createClient from 'openapi-fetch';
import type { components, paths } from './generated.ts';

function clientOf(keyVariable: string) {
  const headers = { Authorization: `Bearer ${process.env[keyVariable]}` };
  return createClient<paths>({ baseUrl: process.env['BASE_URL'], headers });
}

function printError({ response, error }: { response: Response; error?: components['schemas']['Error'] }) {
  console.log(response.status, error?.code);
}

const client = clientOf('API_KEY');
// A number would round this int64, so it is written and read as text.
const { data: created } = await client.POST('/pets', {
  body: { name: ' Monty', categoryId: 0 },
  bodySerializer: (body) =>
    JSON.stringify(body).replace('"categoryId":0', '"categoryId":9223372036854775807'),
  parseAs: 'text',
});
const { name, status } = JSON.parse(created ?? '') as components['schemas']['Pet'];
console.log(`${name}, ${status}, ${/"categoryId":(\d+)/.exec(created ?? '')?.[1]}`);

const query = { limit: 1, status: 'available' } as const;
const first = await client.GET('/pets', { params: { query } });
const [, link = ''] = /<([^>]+)>/.exec(first.response.headers.get('link') ?? '') ?? [];
const cursor = new URL(link).searchParams.get('cursor') ?? undefined;
const second = await client.GET('/pets', { params: { query: { ...query, cursor } } });
console.log('older:', second.data![0]!.id < first.data![0]!.id);

printError(await client.POST('/pets', { body: { name: '\uFFFD', categoryId: 7 } }));
printError(await client.GET('/pets/{petId}', { params: { path: { petId: 1 } } }));
printError(await clientOf('USED_UP_KEY').GET('/pets'));
