import { createHash, createHmac } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/**
 * What is wrong with the signature of a request, as AWS would judge it, or `undefined`. Written from the description,
 * not from the SDK: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
 *
 * @param service the name that DynamoDB, for instance, has in the scope of a signature
 */
export function signatureFault(
  { method, url, headers }: Pick<IncomingMessage, 'method' | 'url' | 'headers'>,
  body: Buffer,
  { accessKeyId, secretAccessKey }: Credentials,
  region: string,
  service: string,
): string | undefined {
  const pattern = /^AWS4-HMAC-SHA256 Credential=(.+), SignedHeaders=(.+), Signature=([0-9a-f]{64})$/;
  const [, credential = '', signedHeaders = '', signature] = pattern.exec(headers.authorization ?? '') ?? [];
  const date = String(headers['x-amz-date']);
  const scope = [date.slice(0, 8), region, service, 'aws4_request'];
  if (credential !== [accessKeyId, ...scope].join('/')) return `signed for ${credential}`;

  const names = signedHeaders.split(';');
  const unsigned = ['host', 'x-amz-date', 'x-amz-target'].filter((name) => !names.includes(name));
  if (unsigned.length > 0) return `not signed: ${unsigned.join(', ')}`;
  const late = Math.abs(Date.now() - timeOf(date));
  if (!(late < 300_000)) return `signed at another time: ${date}`;

  const canonicalHeaders = names.map((name) => `${name}:${String(headers[name]).trim()}\n`).join('');
  const request = [method, url, '', canonicalHeaders, signedHeaders, sha256(body)].join('\n');
  const toSign = ['AWS4-HMAC-SHA256', date, scope.join('/'), sha256(request)].join('\n');
  const key = scope.reduce<string | Buffer>((secret, part) => hmac(secret, part), `AWS4${secretAccessKey}`);
  return hmac(key, toSign).toString('hex') === signature ? undefined : 'the signature does not match';
}

/** Reads a time such as `20260701T120000Z`. */
function timeOf(date: string): number {
  return Date.parse(date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));
}

function sha256(data: string | Buffer): string {
  return createHash('sha256').update(data).digest('hex');
}

function hmac(key: string | Buffer, data: string): Buffer {
  return createHmac('sha256', key).update(data).digest();
}
