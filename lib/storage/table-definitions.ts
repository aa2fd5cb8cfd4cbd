import type { TableName } from '../../functions/tables.ts';

/** The partition key, then the sort key if there is one: a number (`N`) or a text (`S`). */
export type KeyAttributes = Readonly<Record<string, 'N' | 'S'>>;

interface TableDefinition {
  /** What it is for, to operators. */
  readonly description: string;
  readonly keys: KeyAttributes;
  /** They have all attributes of the items. */
  readonly indexes?: Readonly<Record<string, KeyAttributes>>;
  /** Its items end within a day, so they have a time to live and no backup. */
  readonly isTemporary?: true;
}

/** The attribute of a temporary item that says when DynamoDB deletes it. */
export const timeToLiveAttribute = 'expiresAt';

/** The tables. The stack declares them (tables.ts), and tests create them. */
export const tableDefinitions: Readonly<Record<TableName, TableDefinition>> = {
  pets: {
    description: 'Table of the animals',
    keys: { id: 'N' },
    indexes: { byStatus: { status: 'S', id: 'N' } },
  },
  apiKeys: {
    description: 'Table of the API keys, by their hashes',
    keys: { keyHash: 'S' },
    // Only the key tool reads them.
    indexes: {
      byKeyId: { keyId: 'S' },
      byOwner: { owner: 'S', keyId: 'S' },
      byPlan: { plan: 'S', keyId: 'S' },
    },
  },
  // Operators can suspend a key again.
  rateLimits: {
    description: 'Table of the usage of each API key',
    keys: { keyHash: 'S' },
    isTemporary: true,
  },
  idempotency: {
    description: 'Table of the Idempotency-Keys that were used',
    keys: { id: 'S' },
    isTemporary: true,
  },
};
