import { MIMEType } from 'node:util';
import * as z from 'zod/mini';
import { maxBodyBytes, ServiceError } from './errors.ts';
import { parseJson, toCanonicalJson } from './exact-json.ts';
import type { ApiRequest } from './request.ts';

const longestKey = 255;
/** The quotes of a quoted string (IETF draft) are part of the key. */
export const idempotencyKeys = {
  maxLength: longestKey,
  pattern: /^[ -~]+$/,
  inWords: `1 to ${longestKey} printable ASCII characters`,
} as const;

const tooDeep = 'body: is nested too deeply';

/** The JSON of the body, whole numbers as bigint. @throws ServiceError unsupported_media_type, payload_too_large, invalid_request */
export function readBody({ headers, body }: ApiRequest): unknown {
  if (!isJson(headers.get('content-type'))) throw new ServiceError('unsupported_media_type');
  if (body.byteLength > maxBodyBytes) throw new ServiceError('payload_too_large');
  if (body.byteLength === 0) throw invalid('body: is required');
  try {
    return parseJson(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch (error) {
    // The parser's message quotes the body, which may contain anything.
    throw invalid(error instanceof RangeError ? tooDeep : 'body: must be valid JSON in UTF-8');
  }
}

/**
 * What makes a request the same as another one with its `Idempotency-Key`: the method, the path and the JSON in canonical form. Of
 * `POST /pets` it is the JSON alone, as earlier versions store it. No other identity equals that, because no JSON begins with a method.
 *
 * @throws ServiceError invalid_request
 */
export function requestIdentity({ method, resource, pathParameters, body }: ApiRequest): string {
  try {
    const json = body.byteLength === 0 ? '' : toCanonicalJson(new TextDecoder().decode(body));
    if (method === 'POST' && resource === '/pets') return json;
    const path = resource.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
      encodeURIComponent(pathParameters[name] ?? ''),
    );
    return `${method} ${path}\n${json}`;
  } catch {
    // Sorting nested values needs a little more stack than reading them.
    throw invalid(tooDeep);
  }
}

/** The `Idempotency-Key` of a request (draft-ietf-httpapi-idempotency-key-header). @throws ServiceError invalid_request */
export function parseIdempotencyKey({ headers }: ApiRequest): string | undefined {
  const [value, ...more] = headers.get('idempotency-key') ?? [];
  if (value === undefined) return undefined;
  if (more.length > 0) throw invalid('Idempotency-Key: must be sent only once');
  if (value.length > idempotencyKeys.maxLength || !idempotencyKeys.pattern.test(value))
    throw invalid(`Idempotency-Key: must be ${idempotencyKeys.inWords}`);
  return value;
}

/** `name`: the input, in errors that concern no single field. @throws ServiceError invalid_request with every error */
export function parseInput<T>(schema: z.ZodMiniType<T>, input: unknown, name: string): T {
  const parsed = z.safeParse(schema, input);
  if (parsed.success) return parsed.data;
  throw invalid(...parsed.error.issues.map(({ path, message }) => `${path.join('.') || name}: ${message}`));
}

/** The parameters of a query, each a string in `schema`. @throws ServiceError invalid_request with every error */
export function parseQuery<T>(schema: z.ZodMiniType<T>, query: ApiRequest['query']): T {
  const isSingle = (name: PropertyKey | undefined): boolean => query.get(String(name))?.length === 1;
  // A repeated parameter is not a string, so the schema rejects it if it knows it.
  const input = [...query].map(([name, values]) => [name, isSingle(name) ? values[0] : values]);
  const parsed = z.safeParse(schema, Object.fromEntries(input));
  if (parsed.success) return parsed.data;
  throw invalid(
    ...parsed.error.issues.map(
      ({ path, message }) => `${path.join('.')}: ${isSingle(path[0]) ? message : 'must be given only once'}`,
    ),
  );
}

function invalid(...errors: readonly string[]): ServiceError {
  return new ServiceError('invalid_request', errors.join('; '));
}

/** A missing Content-Type counts as JSON, as on API Gateway. */
function isJson(contentTypes: readonly string[] = ['application/json']): boolean {
  if (contentTypes.length !== 1) return false;
  try {
    const { essence, params } = new MIMEType(contentTypes[0]!);
    const charset = params.get('charset')?.toLowerCase() ?? 'utf-8';
    return (
      /^application\/(?:json|[\w.+-]+\+json)$/.test(essence) && (charset === 'utf-8' || charset === 'utf8')
    );
  } catch {
    return false;
  }
}
