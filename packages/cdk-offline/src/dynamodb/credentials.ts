import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeWhole } from '../system/whole-file.ts';

/** In a data directory of DynamoDB Local. */
export const accessKeyIdFile = 'access-key-id';

/**
 * DynamoDB Local keeps the tables of each access key apart and verifies no signature, so the access key ID is the secret.
 * It may have letters and digits only. Dynoxide looks at no access key.
 *
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/DynamoDBLocal.UsageNotes.html
 */
export interface DynamoDbCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

export function credentialsOf(accessKeyId: string): DynamoDbCredentials {
  return { accessKeyId, secretAccessKey: 'local' };
}

/** The access key ID of a data directory: the one of the first run. @throws Error when the file is damaged */
export async function keptAccessKeyId(dataDirectory: string): Promise<string> {
  const path = join(dataDirectory, accessKeyIdFile);
  const kept = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (kept !== undefined && /^[a-z\d]+$/i.test(kept)) return kept;
  if (kept !== undefined) throw new Error(`${path} is damaged. Move it to another folder and start again.`);
  const accessKeyId = newAccessKeyId();
  await writeWhole(path, accessKeyId);
  return accessKeyId;
}

export function newAccessKeyId(): string {
  return randomBytes(16).toString('hex');
}
