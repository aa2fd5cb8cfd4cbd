import { describe, expect, inject, it } from 'vitest';
import { checks } from '../../tools/smoke/checks.ts';
import { Client } from '../../tools/smoke/client.ts';

/** The black-box contract, which `npm run smoke` also runs against any deployed stage. */
describe('the interface, seen from the outside', () => {
  const { url, key } = inject('e2e');
  it.each(checks)('$name', async (check) => {
    await expect(check.run(new Client(url, key))).resolves.toBeUndefined();
  });
});
