/** Where the stack seems to be deployed. The account is the one of AWS's examples. */
export const region = 'us-east-1';
export const accountId = '123456789012';
export const partition = 'aws';

/** For a running DynamoDB, and for calls to the management port, which checks the session token only. */
export const localCredentials = { accessKeyId: 'local', secretAccessKey: 'local' };

export function arn(service: string, resource: string): string {
  return `arn:${partition}:${service}:${region}:${accountId}:${resource}`;
}

/** @param qualifier an alias or version */
export function functionArn(nameOrArn: string, qualifier?: string): string {
  const unqualified = nameOrArn.startsWith('arn:') ? nameOrArn : arn('lambda', `function:${nameOrArn}`);
  return qualifier === undefined ? unqualified : `${unqualified}:${qualifier}`;
}
