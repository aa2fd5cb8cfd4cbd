import { expect } from 'vitest';
import { type ErrorCode, errorCatalogue } from '../../functions/http/errors.ts';

type Headers = Readonly<Record<string, unknown>>;

/** The headers that every answer of the functions carries, whatever its status (docs/interface.md#rate-limits). */
export const commonHeaders: Headers = {
  'Content-Type': 'application/json',
  'Cache-Control': 'no-store',
  'X-Request-Id': expect.stringMatching(/\S/),
  'X-RateLimit-Limit': expect.stringMatching(/^\d+$/),
  'X-RateLimit-Remaining': expect.stringMatching(/^\d+$/),
  'X-RateLimit-Reset': expect.stringMatching(/^\d{10}$/),
  'RateLimit-Policy': expect.stringMatching(/^"minute";q=\d+;w=60, "day";q=\d+;w=86400$/),
  RateLimit: expect.stringMatching(/^"minute";r=\d+;t=\d+, "day";r=\d+;t=\d+$/),
};

/**
 * What an error has to look like, for `toMatchObject`: one status in both places, and the headers of every answer beside those
 * given. No `objectContaining`: Vitest 5.1.1 cannot print how it differs (Maximum call stack size exceeded).
 */
export function anError(code: ErrorCode, { message, headers }: { message?: string; headers?: Headers } = {}) {
  const { status } = errorCatalogue[code];
  return {
    status,
    body: { code, message: message ?? (expect.stringMatching(/\S/) as unknown), status: BigInt(status) },
    text: expect.stringMatching(/^\{.*\}$/) as unknown,
    headers: { ...commonHeaders, ...headers },
  };
}
