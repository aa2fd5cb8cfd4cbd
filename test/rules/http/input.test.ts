import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import * as z from 'zod/mini';
import { ServiceError } from '../../../functions/http/errors.ts';
import {
  parseIdempotencyKey,
  parseInput,
  parseQuery,
  readBody,
  requestIdentity,
} from '../../../functions/http/input.ts';
import { parseRequest } from '../../../functions/http/request.ts';
import { proxyEvent } from '../../support/events.ts';
import * as arbitrary from '../../support/arbitraries.ts';

const schema = z.object(
  { name: z.string('must be a string'), age: z.bigint('must be a whole number') },
  'must be a JSON object',
);
const good = '{"name":"Rex","age":9223372036854775807}';
const caller = { keyHash: 'a', keyId: 'b', plan: 'free', perMinute: 60, perDay: 1_000, expiresAt: 0 };

function parse(body: string | Buffer, contentTypes: readonly string[] = ['application/json']): unknown {
  const headers = contentTypes.map((type) => ['Content-Type', type] as const);
  const event = proxyEvent({ method: 'POST', resource: '/pets', headers, body, caller });
  return parseInput(schema, readBody(parseRequest(event)), 'body');
}

/** The code and message that a body is refused with, or `undefined` where it is read. */
function refusal(body: string | Buffer, contentTypes?: readonly string[]): string | undefined {
  try {
    parse(body, contentTypes);
    return undefined;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return error.code === 'invalid_request' ? error.message : error.code;
  }
}

/** A body of so many bytes, one character of which takes two. */
function ofSize(bytes: number): string {
  return `${good.slice(0, -1)},"pad":"é${'x'.repeat(bytes - good.length - 11)}"}`;
}

describe('a Content-Type', () => {
  test.each([
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json;charset=UTF-8',
    'application/json; charset="utf8"',
    'application/json; profile=x',
    'application/vnd.animals+json',
    'application/merge-patch+json; charset=utf-8',
  ])('%j is JSON', (type) => {
    expect(parse(good, [type])).toEqual({ name: 'Rex', age: 9223372036854775807n });
  });

  test.each([
    '',
    'json',
    'text/plain',
    'text/json',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/jsonp',
    'application/json+xml',
    'x-application/json',
    'application/+json',
    'application/json; charset=latin1',
    'application/json; charset=utf-16',
    'application/json, text/plain',
    'application/json application/json',
    '*/*',
    '\u0000',
  ])('%j is not', (type) => {
    expect(refusal(good, [type])).toBe('unsupported_media_type');
  });

  test('may be missing', () => {
    expect(refusal(good, [])).toBeUndefined();
  });

  test('must not be given twice', () => {
    expect(refusal(good, ['application/json', 'application/json'])).toBe('unsupported_media_type');
  });

  test('with any other text is rejected and never an internal error', () => {
    fc.assert(
      fc.property(arbitrary.text(), (type) => {
        expect(refusal(good, [type])).toBe('unsupported_media_type');
      }),
    );
  });
});

test('an error in a nested field names the path to the field', () => {
  const nested = z.object({ owner: z.object({ names: z.array(z.string('must be a string')) }) });
  expect(() => parseInput(nested, { owner: { names: ['a', 7] } }, 'body')).toThrow(
    'owner.names.1: must be a string',
  );
});

describe('a body', () => {
  test('may have at most 64 KiB, counted in bytes', () => {
    expect(Buffer.byteLength(ofSize(65_536))).toBe(65_536);
    expect(refusal(ofSize(65_536))).toBeUndefined();
    expect(refusal(ofSize(65_537))).toBe('payload_too_large');
  });

  test('is required', () => {
    expect(refusal('')).toBe('body: is required');
  });

  test.each(['null', '[]', '7', '"text"', 'true'])('%s is rejected, because it is not an object', (body) => {
    expect(refusal(body)).toBe('body: must be a JSON object');
  });

  test.each([
    ['white space', ' '],
    ['cut short', '{"name":"Rex"'],
    ['with single quotes', "{'name':'Rex'}"],
    ['with a trailing comma', '{"name":"Rex",}'],
    ['followed by more', `${good} {}`],
    ['with a bare word', '{"name":NaN}'],
    ['with a leading zero', '{"age":07}'],
    ['nested beyond reason and cut short', '['.repeat(30_000)],
    ['no UTF-8', Buffer.from([0x22, 0xff, 0x22])],
    ['UTF-16', Buffer.from(good, 'utf16le')],
    ['a picture', Buffer.from('89504e470d0a1a0a', 'hex')],
  ])('%s is rejected as invalid JSON, without quoting it', (_what, body) => {
    expect(refusal(body)).toBe('body: must be valid JSON in UTF-8');
  });

  test.each([
    ['arrays', '['.repeat(30_000) + ']'.repeat(30_000)],
    ['objects', `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`],
  ])('of valid JSON that has too many %s in each other says so', (_what, body) => {
    expect(refusal(body)).toBe('body: is nested too deeply');
  });

  test.each([
    ['arrays', '[', ']'],
    ['objects', '{"a":', '}'],
  ])('of %s nested as deeply as can be read is never an internal error', (_what, open, close) => {
    const requestOf = (depth: number) => {
      const body = `${open.repeat(depth)}1${close.repeat(depth)}`;
      return parseRequest(proxyEvent({ method: 'POST', resource: '/pets', body, caller }));
    };
    const isRejected = (work: () => unknown) => {
      try {
        work();
        return false;
      } catch (error) {
        expect(error).toBeInstanceOf(ServiceError);
        expect((error as ServiceError).message).toBe('body: is nested too deeply');
        return true;
      }
    };
    let [readable, tooDeep] = [1, 10_000];
    while (tooDeep - readable > 1) {
      const depth = Math.floor((readable + tooDeep) / 2);
      if (isRejected(() => readBody(requestOf(depth)))) tooDeep = depth;
      else readable = depth;
    }
    for (let depth = readable - 50; depth <= tooDeep; depth += 1)
      isRejected(() => requestIdentity(requestOf(depth)));
  });

  test('is rejected with the errors of every field', () => {
    expect(refusal('{"name":7,"age":"7"}')).toBe('name: must be a string; age: must be a whole number');
  });
});

describe('the identity of a request with an Idempotency-Key', () => {
  const identityOf = (method: string, resource: string, body: string, petId = '7') =>
    requestIdentity(parseRequest(proxyEvent({ method, resource, body, caller, pathParameters: { petId } })));

  test('is the JSON of a creation alone, as earlier versions stored it', () => {
    expect(identityOf('POST', '/pets', '{"b":1, "a":2}')).toBe('{"a":2,"b":1}');
  });

  test('differs by method, path, item and JSON, also from every creation', () => {
    const bodies = ['', '{}', '"PUT /pets/7\\n"'];
    const all = [
      identityOf('POST', '/pets', '{}'),
      ...bodies.flatMap((body) => [
        identityOf('PUT', '/pets', body),
        identityOf('PUT', '/pets/{petId}', body),
        identityOf('PUT', '/pets/{petId}', body, '8'),
        identityOf('PUT', '/pets/{petId}', body, '7/adoption'),
        identityOf('PATCH', '/pets/{petId}', body),
        identityOf('POST', '/pets/{petId}/adoption', body),
      ]),
    ];
    expect(new Set(all).size).toBe(all.length);
  });
});

describe('a query', () => {
  const parameters = z.object({
    limit: z.optional(z.string()),
    status: z.optional(z.enum(['sold'], 'must be sold')),
  });
  const read = (...query: [string, string][]) =>
    parseQuery(parameters, parseRequest(proxyEvent({ resource: '/pets', query, caller })).query);

  test('is read without what the schema does not know, also if that is repeated', () => {
    expect(read(['limit', '5'], ['page', '1'], ['page', '2'])).toEqual({ limit: '5' });
  });

  test('is refused with every error, and with a parameter that is given twice', () => {
    const twice = () => read(['limit', '5'], ['limit', '5'], ['status', 'adopted']);
    expect(twice).toThrow('limit: must be given only once; status: must be sold');
  });
});

/** The parsed key of a request with these headers, or the error. */
function parseKey(...values: readonly string[]): unknown {
  const headers = values.map((value) => ['idempotency-KEY', value] as const);
  try {
    return parseIdempotencyKey(parseRequest(proxyEvent({ resource: '/pets', headers, caller })));
  } catch (error) {
    return error;
  }
}

/** The message of a rejection, `undefined` for a key that is accepted. */
function keyRejectionOf(...values: readonly string[]): string | undefined {
  const result = parseKey(...values);
  if (!(result instanceof ServiceError)) return undefined;
  return result.code === 'invalid_request' ? result.message : result.code;
}

const printable = fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCodePoint(code));
const unprintable = fc.oneof(fc.integer({ min: 0, max: 0x1f }), fc.integer({ min: 0x7f, max: 0xd7ff }));

describe('an Idempotency-Key', () => {
  test('is undefined if it is not sent', () => {
    expect(parseKey()).toBeUndefined();
  });

  test('of 1 to 255 printable ASCII characters is returned unchanged', () => {
    fc.assert(
      fc.property(fc.string({ unit: printable, minLength: 1, maxLength: 255 }), (key) => {
        expect(parseKey(key)).toBe(key);
      }),
    );
    expect(parseKey('x'.repeat(255))).toBe('x'.repeat(255));
  });

  test.each([
    ['empty', ''],
    ['longer than 255 characters', 'x'.repeat(256)],
  ])('that is %s is rejected', (_what, key) => {
    expect(keyRejectionOf(key)).toMatch(/^Idempotency-Key: \w+/);
  });

  test('with any other character is rejected, wherever the character is', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: printable, maxLength: 10 }),
        unprintable,
        fc.string({ unit: printable, maxLength: 10 }),
        (before, code, after) => {
          expect(keyRejectionOf(before + String.fromCodePoint(code) + after)).toMatch(
            /^Idempotency-Key: \w+/,
          );
        },
      ),
    );
  });

  test('that is sent twice is rejected, with equal values too, and the message says so', () => {
    expect(keyRejectionOf('a', 'a')).toMatch(/^Idempotency-Key: .*only once/);
    expect(keyRejectionOf('a', 'b')).toMatch(/^Idempotency-Key: .*only once/);
  });
});
