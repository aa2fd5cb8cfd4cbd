import { describe, expect, test } from 'vitest';
import { errorCatalogue, type ErrorCode, ServiceError } from '../../../functions/http/errors.ts';

const codes = Object.keys(errorCatalogue) as ErrorCode[];

describe('the error catalogue', () => {
  test('keeps the status of each code that clients know', () => {
    expect(Object.fromEntries(codes.map((code) => [code, errorCatalogue[code].status]))).toMatchObject({
      invalid_request: 400,
      unauthorized: 401,
      pet_not_found: 404,
      route_not_found: 404,
      method_not_allowed: 405,
      payload_too_large: 413,
      unsupported_media_type: 415,
      idempotency_key_reused: 422,
      rate_limit_exceeded: 429,
      key_suspended: 429,
      internal_error: 500,
      service_unavailable: 503,
    });
  });

  test.each(codes)('has a message for %s', (code) => {
    expect(errorCatalogue[code].message).toMatch(/^[A-Z].{15,}[.]$/);
  });
});

describe('an error', () => {
  test('has a name of its own, and no cause or headers unless they are given', () => {
    const error = new ServiceError('unauthorized');
    expect(error.name).toBe('ServiceError');
    expect(error.message).toBe(errorCatalogue.unauthorized.message);
    expect(error).not.toHaveProperty('cause');
    expect(error.headers).toEqual({});
  });

  test('shows the message it was thrown with instead of the catalogue’s', () => {
    const error = new ServiceError('invalid_request', 'limit: must be a number', { headers: { A: 'b' } });
    expect(error.body).toEqual({ code: 'invalid_request', message: 'limit: must be a number', status: 400 });
    expect(error.headers).toEqual({ A: 'b' });
  });
});
