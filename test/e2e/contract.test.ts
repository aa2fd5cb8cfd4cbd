import { describe, inject, it } from 'vitest';
import { checks } from '../../tools/smoke/checks.ts';
import { Client } from '../../tools/smoke/client.ts';

/** The black-box contract, which `npm run smoke` also runs against any deployed stage. */
describe('the interface, seen from the outside', () => {
  const { url, key } = inject('e2e');
  for (const check of checks) it(check.name, () => check.run(new Client(url, key)));
});
