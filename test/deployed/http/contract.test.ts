import { describe, expect, inject, it } from 'vitest';
import { checks } from '../../../tools/operators/smoke/smoke-checks.ts';
import { Client } from '../../../tools/operators/smoke/client.ts';

/** The black-box contract, which `npm run smoke` also runs against any deployed stage. */
describe('the interface, seen from the outside', () => {
  const { url, key } = inject('service');
  it.each(Object.entries(checks))('%s', async (_name, check) => {
    await expect(check(new Client(url, key))).resolves.toBeUndefined();
  });

  it('may have fields that the checks do not know', async () => {
    const client = new Client(url, key, { send: withUnknownFields });
    for (const check of Object.values(checks)) await expect(check(client)).resolves.toBeUndefined();
  });
});

/** The answer of a later version: every object has one more field. In the text, which keeps the digits of an int64. */
async function withUnknownFields(...request: Parameters<typeof fetch>): Promise<Response> {
  const answer = await fetch(...request);
  const text = await answer.text();
  // `Response` takes no text with 204, not even an empty one.
  return new Response(text.replaceAll('{', '{"fieldOfTomorrow":null,') || null, answer);
}
