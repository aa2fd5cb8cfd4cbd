import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { TransactionCanceledException } from '@aws-sdk/client-dynamodb';
import { type DynamoDBDocumentClient, TransactWriteCommand } from '@aws-sdk/lib-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import * as z from 'zod/mini';
import { type NewPet, type Pet, storedPet } from './schema.ts';
import type { Creation, PetTable } from './store.ts';

/** The Idempotency table: partition key `id`, time to live `expiresAt`. One item per idempotency key that was used. */
export interface IdempotencyTable {
  readonly client: DynamoDBDocumentClient;
  readonly tableName: string;
}

/** How long an idempotency key is remembered, in seconds. */
export const idempotencyRetention = 86_400;

export interface IdempotentCreation extends Creation {
  /** Of the record, see `idempotencyId`. */
  readonly id: string;
  /** Unix seconds, whole. */
  readonly now: number;
}

export type CreationOutcome =
  | { readonly kind: 'created' | 'replayed'; readonly pet: Pet }
  /** The idempotency key was used for another animal. */
  | { readonly kind: 'mismatch' };

/** The id of a record: a SHA-256, so that neither key can be read from the table. */
export function idempotencyId(callerHash: string, idempotencyKey: string): string {
  return sha256(`${callerHash}:${idempotencyKey}`);
}

/*
 * One transaction writes the animal and the record, so there is either both or nothing, and no state between them.
 *
 *   Idempotency record                        condition of its put    result
 *   absent                                    holds                   created
 *   expired, not yet deleted by TTL           holds                   created, the record is replaced
 *   present, with the same body               fails                   replayed: the animal of the record
 *   present, with another body                fails                   mismatch
 *   being written by another request          conflict                tried again: then present
 */
const recordAbsent = 'attribute_not_exists(id) OR expiresAt <= :now';
const idNotTaken = 'attribute_not_exists(id)';

/**
 * Stores a new animal unless the idempotency key was used before. Costs nothing beside the transaction: the record of an
 * earlier creation comes with the failed condition.
 *
 * @throws TransactionCanceledException, marked as worth a retry if other transactions are in the way for too long
 */
export async function createPetOnce(
  pets: PetTable,
  idempotency: IdempotencyTable,
  newPet: NewPet,
  { id, now, drawId, onCollision, signal, attempts = 8 }: IdempotentCreation,
): Promise<CreationOutcome> {
  const bodyHash = hashOfBody(newPet);
  for (let attempt = 1; ; attempt += 1) {
    const pet: Pet = { id: drawId(), ...newPet };
    try {
      await pets.client.send(
        new TransactWriteCommand({
          TransactItems: [
            { Put: { TableName: pets.tableName, Item: pet, ConditionExpression: idNotTaken } },
            {
              Put: {
                TableName: idempotency.tableName,
                Item: { id, bodyHash, expiresAt: now + idempotencyRetention, pet },
                ConditionExpression: recordAbsent,
                ExpressionAttributeValues: { ':now': now },
                ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
              },
            },
          ],
        }),
        signal && { abortSignal: signal },
      );
      return { kind: 'created', pet };
    } catch (error) {
      if (!(error instanceof TransactionCanceledException)) throw error;
      const [ofPet, ofRecord] = error.CancellationReasons ?? [];
      if (ofRecord?.Code === conditionFailed) {
        // The document client does not unmarshall the items of errors.
        const record = z.parse(storedRecord, unmarshall(ofRecord.Item ?? {}, { wrapNumbers: true }));
        if (record.bodyHash !== bodyHash) return { kind: 'mismatch' };
        // The SDK repeats a call whose answer was lost: then the record is this request's own.
        return { kind: record.pet.id === pet.id ? 'created' : 'replayed', pet: record.pet };
      }
      const codes = new Set([ofPet?.Code, ofRecord?.Code]);
      if (codes.has(conditionFailed)) onCollision();
      else if (!worthRetrying.some((code) => codes.has(code))) throw error;
      // Marked as the SDK marks errors that are worth a retry.
      if (attempt >= attempts) throw Object.assign(error, { $retryable: {} });
      // Random delays, so that requests that met once do not meet again.
      await sleep(Math.random() * longestDelay, undefined, signal && { signal });
    }
  }
}

/** Between two attempts, in milliseconds. */
const longestDelay = 50;

const conditionFailed = 'ConditionalCheckFailed';

/** https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html */
const worthRetrying = ['TransactionConflict', 'ThrottlingError', 'ProvisionedThroughputExceeded'];

const storedRecord = z.object({ bodyHash: z.string(), pet: storedPet });

/**
 * Two bodies are the same if they describe the same animal: the order of the fields, white space and unknown fields do
 * not count, and a `status` that is left out is the default one.
 */
function hashOfBody({ name, categoryId, status }: NewPet): string {
  return sha256(JSON.stringify([name, String(categoryId), status]));
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
