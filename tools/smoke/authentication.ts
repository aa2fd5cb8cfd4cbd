import { newKey } from '../../functions/access/keys.ts';
import type { Check } from './check.ts';
import type { Ask, Client } from './client.ts';
import { expectUnauthorized } from './expectations.ts';
import { marked } from './marked.ts';

/** Nothing is served without a key (interface, section 5), on any operation: one that is left open is enough. */

const realm = 'Bearer realm="animal-store"';
const invalidToken = `${realm}, error="invalid_token"`;

const operations: readonly Ask[] = [
  { path: '/pets' },
  { method: 'POST', path: '/pets', body: marked('1'), headers: { 'Content-Type': 'application/json' } },
  { path: '/pets/1' },
  { path: '/nowhere' },
];

async function expectClosed(
  client: Client,
  authorizations: readonly (string | null)[],
  challenge: string,
): Promise<void> {
  for (const authorization of authorizations) {
    for (const operation of operations)
      expectUnauthorized(await client.send({ ...operation, authorization }), challenge);
  }
}

export const authentication: readonly Check[] = [
  {
    name: 'A request without a key is 401 on every operation and on unknown paths, with an Error body and a challenge',
    run: (client) => expectClosed(client, [null], realm),
  },
  {
    name: 'A malformed key, and one that is not sent as a bearer token, is 401 on every operation and on unknown paths',
    run: (client) =>
      expectClosed(client, ['Bearer', `Bearer ${client.key.slice(0, -1)}`, `Basic ${client.key}`], realm),
  },
  {
    name: 'A key that was never issued is 401 on every operation and on unknown paths, mistyped or well-formed',
    run: (client) =>
      expectClosed(
        client,
        [mistyped(client.key), newKey(stageOf(client.key))].map((key) => `Bearer ${key}`),
        invalidToken,
      ),
  },
];

/** The same key with one character of its random part changed: well-formed, but its checksum is wrong. */
function mistyped(key: string): string {
  const place = key.length - 10;
  return `${key.slice(0, place)}${key[place] === 'A' ? 'B' : 'A'}${key.slice(place + 1)}`;
}

function stageOf(key: string): string {
  return /^as_([a-z][a-z0-9]*)_/.exec(key)?.[1] ?? 'prod';
}
