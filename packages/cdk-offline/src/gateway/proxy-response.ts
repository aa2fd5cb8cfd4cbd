import { z } from 'zod';
import type { HttpResponse } from '../http-message.ts';
import { isBinary } from './media-types.ts';

const headerValue = z.union([z.string(), z.number(), z.boolean()]).transform(String);

/** Any other field makes an answer malformed, and so does an answer without any. */
const proxyAnswer = z
  .strictObject({
    statusCode: z.coerce.number().int().min(200).max(599).optional(),
    headers: z.record(z.string(), headerValue).nullish(),
    multiValueHeaders: z.record(z.string(), z.array(headerValue)).nullish(),
    body: z.string().nullish(),
    isBase64Encoded: z.boolean().nullish(),
  })
  .refine((answer) => Object.keys(answer).length > 0);

/** https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-known-issues.html */
const remapped = new Set([
  'authorization',
  'connection',
  'content-md5',
  'date',
  'max-forwards',
  'server',
  'user-agent',
  'www-authenticate',
]);
const dropped = new Set([
  'content-length',
  'expect',
  'host',
  'proxy-authenticate',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'via',
]);

/**
 * Reads what a function returned to its proxy integration.
 *
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/set-up-lambda-proxy-integrations.html#api-gateway-simple-proxy-for-lambda-output-format
 *
 * @param payload JSON
 * @param accept the request's Accept header, which decides whether a base64 body is decoded
 * @returns `undefined` when the answer is malformed
 */
export function readProxyResponse(
  payload: string,
  accept: string | undefined,
  binaryMediaTypes: readonly string[],
): HttpResponse | undefined {
  const parsed = proxyAnswer.safeParse(JSON.parse(payload));
  if (!parsed.success) return undefined;
  const { statusCode = 200, headers, multiValueHeaders, body, isBase64Encoded } = parsed.data;
  // A header that is in both is sent with all of its values.
  const all = [
    ...Object.entries(headers ?? {}),
    ...Object.entries(multiValueHeaders ?? {}).flatMap(([name, values]) =>
      values.map((value): [string, string] => [name, value]),
    ),
  ];
  if (!all.every(([name, value]) => isHeader(name, value))) return undefined;
  const hasType = all.some(([name]) => name.toLowerCase() === 'content-type');
  return {
    status: statusCode,
    headers: [
      ...(hasType ? [] : [['Content-Type', 'application/json'] as const]),
      ...all
        .filter(([name]) => !dropped.has(name.toLowerCase()))
        .map(([name, value]) => [remap(name), value] as const),
    ],
    body: Buffer.from(
      body ?? '',
      isBase64Encoded === true && isBinary(accept, binaryMediaTypes) ? 'base64' : 'utf8',
    ),
  };
}

function remap(name: string): string {
  return remapped.has(name.toLowerCase()) ? `x-amzn-Remapped-${name}` : name;
}

/** RFC 9110, sections 5.1 and 5.5. */
function isHeader(name: string, value: string): boolean {
  // oxlint-disable-next-line no-control-regex
  return /^[!#$%&'*+.^_`|~\w-]+$/.test(name) && !/[\0-\x08\n-\x1f\x7f]/.test(value);
}
