import { MIMEType } from 'node:util';
import * as z from 'zod/mini';
import { ServiceError } from './errors.ts';
import { parseJson } from './exact-json.ts';
import type { ApiRequest } from './request.ts';

/** Largest request body, in bytes. */
export const maxBodyBytes = 64 * 1024;

/**
 * The JSON body of a request, as a schema reads it.
 *
 * @throws ServiceError unsupported_media_type, payload_too_large, or invalid_request naming every fault
 */
export function parseBody<T>(request: ApiRequest, schema: z.ZodMiniType<T>): T {
  if (!isJson(request.headers.get('content-type'))) throw new ServiceError('unsupported_media_type');
  if (request.body.byteLength > maxBodyBytes) throw new ServiceError('payload_too_large');
  return parseInput(schema, readJson(request.body), 'body');
}

/**
 * Input from the outside, as a schema reads it.
 *
 * @param whole what a fault of the whole is called, where no field can be named
 * @throws ServiceError invalid_request naming every fault, field by field
 */
export function parseInput<T>(schema: z.ZodMiniType<T>, input: unknown, whole: string): T {
  const parsed = z.safeParse(schema, input);
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map(({ path, message }) => `${path.join('.') || whole}: ${message}`);
  throw new ServiceError('invalid_request', faults.join('; '));
}

function readJson(body: Buffer): unknown {
  if (body.byteLength === 0) throw new ServiceError('invalid_request', 'body: is required');
  try {
    return parseJson(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    // The parser's own message quotes the body, which may be anything.
    throw new ServiceError('invalid_request', 'body: is not valid JSON in UTF-8');
  }
}

/** No Content-Type at all is taken for JSON, as API Gateway itself does. */
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
