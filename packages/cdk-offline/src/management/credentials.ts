import { randomBytes } from 'node:crypto';
import { localCredentials } from '../template/aws.ts';

/** Credentials for the AWS services of one run. The session token is the secret. */
export interface ManagementCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string;
}

export function newCredentials(): ManagementCredentials {
  return { ...localCredentials, sessionToken: randomBytes(16).toString('hex') };
}
