/** The place that the stack is deployed to, as far as anything in it can tell. The account is that of AWS's examples. */
export const region = 'us-east-1';
export const accountId = '123456789012';
export const partition = 'aws';
export const urlSuffix = 'amazonaws.com';

/** The credentials that every local call is signed with. Nothing verifies them. */
export const localCredentials = { accessKeyId: 'local', secretAccessKey: 'local', sessionToken: 'local' };

export function arn(service: string, resource: string): string {
  return `arn:${partition}:${service}:${region}:${accountId}:${resource}`;
}
