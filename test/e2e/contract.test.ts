import { describe, expect, inject, it } from 'vitest';
import { checks } from '../../tools/smoke/checks.ts';
import { Client } from '../../tools/smoke/client.ts';

/** The black-box contract, which `npm run smoke` also runs against any deployed stage. */
describe('the interface, seen from the outside', () => {
  const { url, key } = inject('e2e');
  it.each(checks)('$name', async (check) => {
    await expect(check.run(new Client(url, key))).resolves.toBeUndefined();
  });

  it('may have fields that the checks do not know', async () => {
    const client = new Client(url, key, { send: withUnknownFields });
    for (const { run } of checks) await expect(run(client)).resolves.toBeUndefined();
  });
});

/** The answer of a later version: every object has one more field. In the text, which keeps the digits of an int64. */
async function withUnknownFields(...request: Parameters<typeof fetch>): Promise<Response> {
  const answer = await fetch(...request);
  const text = await answer.text();
  return new Response(text.replaceAll('{', '{"fieldOfTomorrow":null,'), answer);
}
