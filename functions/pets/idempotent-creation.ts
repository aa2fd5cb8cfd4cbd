import { createHash, randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { TransactionCanceledException } from '@aws-sdk/client-dynamodb';
import { type DynamoDBDocumentClient, TransactWriteCommand } from '@aws-sdk/lib-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import * as z from 'zod/mini';
import type { UnixSeconds } from '../runtime/unix-time.ts';
import { type NewPet, type Pet, storedPet } from './schema.ts';
import type { Creation, PetTable } from './store.ts';

/** The Idempotency table: partition key `id`, time to live `expiresAt`. One item per idempotency key that was used. */
export interface IdempotencyTable {
  readonly client: DynamoDBDocumentClient;
  readonly tableName: string;
}

/** Seconds that an idempotency key is kept. */
export const idempotencyRetention = 86_400;

export interface IdempotentCreation extends Creation {
  /** See `recordIdOf`. */
  readonly recordId: string;
  /** See `requestIdentity`. */
  readonly identity: string;
  readonly now: UnixSeconds;
}

/** `mismatch`: the idempotency key was used for another request. */
type CreationOutcome =
  { readonly kind: 'created' | 'replayed'; readonly pet: Pet } | { readonly kind: 'mismatch' };

/** The ID of a record: a SHA-256, so that the table contains neither key. */
export function recordIdOf(callerHash: string, idempotencyKey: string): string {
  return sha256(`${callerHash}:${idempotencyKey}`);
}

/*
 * One transaction writes the pet and the record: both or neither.
 *
 *   Idempotency record                        condition of the put    result
 *   absent                                    holds                   created
 *   expired, not yet deleted by TTL           holds                   created, record replaced
 *   present, with the same body               fails                   replayed: the pet of the record
 *   present, with another body                fails                   mismatch
 *   being written by another request          conflict                repeated after a delay
 */
const recordAbsent = 'attribute_not_exists(id) OR expiresAt <= :now';
const idNotTaken = 'attribute_not_exists(id)';

const conditionFailed = 'ConditionalCheckFailed';
/** https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html */
const conflict = 'TransactionConflict';
const throttles = ['ThrottlingError', 'ProvisionedThroughputExceeded'];

/** Milliseconds between two attempts, at most: doubled with each attempt. */
const firstDelay = 25;
const maxDelay = 400;

/**
 * `requestHash` is of the request's JSON, not of the fields that this version knows: a canary release runs two versions, which
 * have to agree on it.
 */
const storedRecord = z.object({ requestHash: z.string(), pet: storedPet });

/** The record of a creation. @param identity see `requestIdentity` */
export function newRecord(recordId: string, identity: string, pet: Pet, now: UnixSeconds) {
  return { id: recordId, requestHash: sha256(identity), expiresAt: now + idempotencyRetention, pet };
}

/**
 * Stores a new pet unless the idempotency key was used. A replay needs no read: the failed condition returns the record. If
 * an answer of DynamoDB is lost, the SDK repeats the call with the same ClientRequestToken, and DynamoDB reports success.
 * Conflicts with other transactions and IDs in use are repeated until the signal.
 *
 * @throws TransactionCanceledException, marked as retryable if DynamoDB throttles
 */
export async function createPetOnce(
  pets: PetTable,
  idempotency: IdempotencyTable,
  newPet: NewPet,
  { recordId, identity, now, newId, addedBy, onCollision, signal }: IdempotentCreation,
): Promise<CreationOutcome> {
  for (let attempt = 1; ; attempt += 1) {
    const pet: Pet = { id: newId(), ...newPet };
    const written = newRecord(recordId, identity, pet, now);
    try {
      await pets.client.send(
        new TransactWriteCommand({
          TransactItems: [
            {
              Put: {
                TableName: pets.tableName,
                Item: { ...pet, addedBy },
                ConditionExpression: idNotTaken,
              },
            },
            {
              Put: {
                TableName: idempotency.tableName,
                Item: written,
                ConditionExpression: recordAbsent,
                ExpressionAttributeValues: { ':now': now },
                ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
              },
            },
          ],
          // The token is the same in every attempt of this call.
          ClientRequestToken: randomUUID(),
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
        if (record.requestHash !== written.requestHash) return { kind: 'mismatch' };
        return { kind: 'replayed', pet: record.pet };
      }
      const codes = new Set([ofPet?.Code, ofRecord?.Code]);
      // The SDK marks errors like this that a later request may not meet. Nothing is repeated, because the partition is busy enough.
      if (throttles.some((code) => codes.has(code))) throw Object.assign(error, { $retryable: {} });
      if (codes.has(conditionFailed)) onCollision();
      else if (!codes.has(conflict)) throw error;
      // Jitter keeps two requests from conflicting again.
      const delay = Math.random() * Math.min(maxDelay, firstDelay * 2 ** (attempt - 1));
      await setTimeout(delay, undefined, signal && { signal });
    }
  }
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
