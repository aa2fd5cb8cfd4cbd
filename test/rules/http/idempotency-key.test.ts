import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ServiceError } from '../../../functions/http/errors.ts';
import { parseIdempotencyKey } from '../../../functions/http/input.ts';
import { parseRequest } from '../../../functions/http/request.ts';
import { proxyEvent } from '../../support/events.ts';

const caller = { keyHash: 'a', keyId: 'b', plan: 'free', perMinute: 60, perDay: 1_000, expiresAt: 0 };

/** The parsed key of a request with these headers, or the error. */
function parse(...values: readonly string[]): unknown {
  const headers = values.map((value) => ['idempotency-KEY', value] as const);
  try {
    return parseIdempotencyKey(parseRequest(proxyEvent({ resource: '/pets', headers, caller })));
  } catch (error) {
    return error;
  }
}

/** The message of a rejection, `undefined` for a key that is accepted. */
function rejectionOf(...values: readonly string[]): string | undefined {
  const result = parse(...values);
  if (!(result instanceof ServiceError)) return undefined;
  return result.code === 'invalid_request' ? result.message : result.code;
}

const printable = fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCodePoint(code));
const unprintable = fc.oneof(fc.integer({ min: 0, max: 0x1f }), fc.integer({ min: 0x7f, max: 0xd7ff }));

describe('an Idempotency-Key', () => {
  test('is undefined if it is not sent', () => {
    expect(parse()).toBeUndefined();
  });

  test('of 1 to 255 printable ASCII characters is returned unchanged', () => {
    fc.assert(
      fc.property(fc.string({ unit: printable, minLength: 1, maxLength: 255 }), (key) => {
        expect(parse(key)).toBe(key);
      }),
    );
    expect(parse('x'.repeat(255))).toBe('x'.repeat(255));
  });

  test.each([
    ['empty', ''],
    ['longer than 255 characters', 'x'.repeat(256)],
  ])('that is %s is rejected', (_what, key) => {
    expect(rejectionOf(key)).toMatch(/^Idempotency-Key: \w+/);
  });

  test('with any other character is rejected, wherever the character is', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: printable, maxLength: 10 }),
        unprintable,
        fc.string({ unit: printable, maxLength: 10 }),
        (before, code, after) => {
          expect(rejectionOf(before + String.fromCodePoint(code) + after)).toMatch(/^Idempotency-Key: \w+/);
        },
      ),
    );
  });

  test('that is sent twice is rejected, with equal values too, and the message says so', () => {
    expect(rejectionOf('a', 'a')).toMatch(/^Idempotency-Key: .*only once/);
    expect(rejectionOf('a', 'b')).toMatch(/^Idempotency-Key: .*only once/);
  });
});
