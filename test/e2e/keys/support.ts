import { inject } from 'vitest';
import type { LocalAddress } from '../../../tools/operators/command-line/local-address.ts';
import { keyTool } from '../../support/key-tool.ts';

export { type Issued, keyPattern, keysIn, newOwner } from '../../support/key-tool.ts';

function localAddress(): LocalAddress {
  const local = inject('local');
  if (local === undefined) throw new Error('Only the local service offers its keys to tests');
  const { endpoint, credentials } = local;
  return { endpoint, credentials };
}

/** The status that the service answers a request with this key with. */
export async function call(key: string): Promise<number> {
  const response = await fetch(`${inject('e2e').url}/pets?limit=1`, {
    headers: { Authorization: `Bearer ${key}` },
  });
  await response.arrayBuffer();
  return response.status;
}

/** The key tool against the service under test. */
export const {
  callEach,
  cleanUpLater,
  create,
  expectConsistent,
  keysJson,
  keysLocal,
  openLocal,
  plansOf,
  recordsOf,
} = keyTool(localAddress, call);
