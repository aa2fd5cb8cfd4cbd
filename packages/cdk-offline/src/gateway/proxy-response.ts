import { z } from 'zod';
import type { HttpResponse } from '../http/response.ts';
import { problemOf, scalar } from '../template/schema.ts';
import { type GatewayError, gatewayErrors } from './gateway-responses.ts';
import { isBinary } from './media-types.ts';

/** Trials of the SAM CLI's developers on AWS: https://github.com/aws/aws-sam-cli/pull/2941 */
const base64Flag = z
  .union([z.boolean(), z.enum(['true', 'True', 'false', 'False'])], 'must be true or false')
  .transform((value) => String(value).toLowerCase() === 'true')
  .nullish();

/** An answer with another field, or with no field, is malformed. */
const proxyAnswer = z
  .strictObject({
    statusCode: z.coerce.number().int().min(200).max(599).optional(),
    headers: z.record(z.string(), scalar).nullish(),
    multiValueHeaders: z.record(z.string(), z.array(scalar)).nullish(),
    body: z.string().nullish(),
    isBase64Encoded: base64Flag,
    /** Takes precedence. */
    base64Encoded: base64Flag,
  })
  .refine((answer) => Object.keys(answer).length > 0, 'has no member');

/** https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-known-issues.html */
const remapped =
  /^(?:authorization|connection|content-md5|date|max-forwards|server|user-agent|www-authenticate)$/i;
const dropped =
  /^(?:content-length|expect|host|proxy-authenticate|te|trailer|transfer-encoding|upgrade|via)$/i;

/**
 * Parses the result of a function with proxy integration.
 *
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/set-up-lambda-proxy-integrations.html#api-gateway-simple-proxy-for-lambda-output-format
 *
 * @param payload JSON
 * @param accept the request's Accept header, which decides whether a base64 body is decoded
 * @returns an error, and for the log which member is wrong
 */
export function readProxyResponse(
  payload: string,
  accept: string | undefined,
  binaryMediaTypes: readonly string[],
): HttpResponse | { readonly error: GatewayError; readonly problem: string } {
  const malformed = (problem: string) => ({
    error: gatewayErrors.malformedProxyResponse,
    problem: `Malformed Lambda proxy response: ${problem}`,
  });
  const parsed = proxyAnswer.safeParse(JSON.parse(payload));
  if (!parsed.success) return malformed(problemOf(parsed.error));
  const { statusCode = 200, headers, multiValueHeaders, body, isBase64Encoded, base64Encoded } = parsed.data;
  const multiple = Object.entries(multiValueHeaders ?? {}).flatMap(([name, values]) =>
    values.map((value): [string, string] => [name, value]),
  );
  // The values of both fields are merged, and a pair that is in both appears once.
  const single = Object.entries(headers ?? {}).filter(
    ([name, value]) => !multiple.some(([other, known]) => isSameName(name, other) && known === value),
  );
  const all = [...multiple, ...single];
  const invalid = all.find(([name, value]) => !isHeader(name, value));
  if (invalid !== undefined) return malformed(`headers: ${JSON.stringify(invalid[0])} is not a valid header`);
  const isDecoded = (base64Encoded ?? isBase64Encoded) === true && isBinary(accept, binaryMediaTypes);
  if (isDecoded && !isBase64(body ?? '')) {
    return { error: gatewayErrors.configuration, problem: 'body: is not valid base64' };
  }
  const hasType = all.some(([name]) => isSameName(name, 'Content-Type'));
  return {
    status: statusCode,
    headers: [
      ...(hasType ? [] : [['Content-Type', 'application/json'] as const]),
      ...all
        .filter(([name]) => !dropped.test(name))
        .map(([name, value]) => [remapped.test(name) ? `x-amzn-Remapped-${name}` : name, value] as const),
    ],
    body: Buffer.from(body ?? '', isDecoded ? 'base64' : 'utf8'),
  };
}

/** RFC 4648, section 4, with line breaks as in MIME, and without padding. */
function isBase64(text: string): boolean {
  const [, digits] = /^([A-Za-z\d+/]*)={0,2}$/.exec(text.replaceAll(/\s/g, '')) ?? [];
  return digits !== undefined && digits.length % 4 !== 1;
}

function isSameName(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

/** RFC 9110, sections 5.1 and 5.5. */
function isHeader(name: string, value: string): boolean {
  // oxlint-disable-next-line no-control-regex
  return /^[!#$%&'*+.^_`|~\w-]+$/.test(name) && !/[\0-\x08\n-\x1f\x7f]/.test(value);
}
