import { createHash, createHmac } from 'node:crypto';
import { request } from 'node:https';

/**
 * The least that a listing with a rate limit needs: its two calls to DynamoDB by `node:https`, signed by hand
 * (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html). No library, no retries, no
 * time-outs, nothing checked.
 */
const variable = (name: string): string => process.env[name] ?? '';
const url = new URL(variable('AWS_ENDPOINT_URL_DYNAMODB'));
const region = variable('AWS_REGION');

const hash = (text: string): string => createHash('sha256').update(text).digest('hex');
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

function call(operation: string, input: object): Promise<{ readonly Items?: readonly Item[] }> {
  const body = JSON.stringify(input);
  const time = new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '');
  const scope = [time.slice(0, 8), region, 'dynamodb', 'aws4_request'];
  const headers = {
    'content-type': 'application/x-amz-json-1.0',
    host: url.host,
    'x-amz-date': time,
    'x-amz-security-token': variable('AWS_SESSION_TOKEN'),
    'x-amz-target': `DynamoDB_20120810.${operation}`,
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}:${value}\n`);
  const signed = Object.keys(headers).join(';');
  const canonical = ['POST', '/', '', lines.join(''), signed, hash(body)].join('\n');
  const toSign = ['AWS4-HMAC-SHA256', time, scope.join('/'), hash(canonical)].join('\n');
  const key = scope.reduce<string | Buffer>(hmac, `AWS4${variable('AWS_SECRET_ACCESS_KEY')}`);
  const credential = `${variable('AWS_ACCESS_KEY_ID')}/${scope.join('/')}`;
  const signature = hmac(key, toSign).toString('hex');
  const authorization = `AWS4-HMAC-SHA256 Credential=${credential}, SignedHeaders=${signed}, Signature=${signature}`;
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', headers: { ...headers, authorization } }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => void (text += chunk));
      response.on('end', () => resolve(JSON.parse(text) as { Items?: Item[] }));
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

type Item = Readonly<Record<string, { readonly N?: string; readonly S?: string }>>;

interface Event {
  readonly requestContext: { readonly authorizer: { readonly keyHash: string } };
}

export const handler = async ({ requestContext }: Event) => {
  const [{ Items: items = [] }] = await Promise.all([
    call('Query', {
      TableName: variable('PETS_TABLE'),
      IndexName: 'byStatus',
      KeyConditionExpression: '#status = :status',
      ExpressionAttributeNames: { '#status': 'status' },
      ExpressionAttributeValues: { ':status': { S: 'available' } },
      ScanIndexForward: false,
      Limit: 21,
    }),
    call('UpdateItem', {
      TableName: variable('RATE_LIMITS_TABLE'),
      Key: { keyHash: { S: requestContext.authorizer.keyHash } },
      UpdateExpression: 'ADD minuteCount :one, dayCount :one',
      ExpressionAttributeValues: { ':one': { N: '1' } },
      ReturnValues: 'ALL_NEW',
    }),
  ]);
  const pets = items.map(({ id, name, categoryId, status }) => ({
    id: Number(id?.N),
    name: name?.S,
    categoryId: Number(categoryId?.N),
    status: status?.S,
  }));
  return { statusCode: 200, headers: {}, body: JSON.stringify(pets.slice(0, 20)) };
};
