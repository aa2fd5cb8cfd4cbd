import { describe, expect, it } from 'vitest';
import { AnswerValidator, type SeenAnswer } from '../support/openapi-answers.ts';

const windows = {
  'RateLimit-Policy': '"minute";q=60;w=60, "day";q=1000;w=86400',
  RateLimit: '"minute";r=59;t=42, "day";r=999;t=51042',
};
const rates = { 'X-RateLimit-Limit': '60', 'X-RateLimit-Remaining': '59', 'X-RateLimit-Reset': '1767225660' };
const common = { 'Content-Type': 'application/json', 'X-Request-Id': 'r', ...rates };
const deprecation = {
  Deprecation: '@1767225600',
  Sunset: 'Thu, 05 Dec 2030 00:00:00 GMT',
  Link: '<http://127.0.0.1/v1/pets>; rel="successor-version"',
};

function answer(
  method: string,
  path: string,
  status: number,
  headers: Record<string, string>,
  body: unknown,
): SeenAnswer {
  return { method, path, status, headers: new Headers(headers), text: JSON.stringify(body) };
}

const noContent = {
  paths: {
    '/pets': {
      delete: { responses: { '204': { headers: { 'X-Request-Id': { $ref: '#/components/headers/Id' } } } } },
    },
  },
  components: { headers: { Id: { required: true, schema: { type: 'string' } } }, responses: {} },
};

const pet = { id: 1, name: 'Rex', categoryId: 7, status: 'available' };
const listed = answer('GET', '/pets', 200, { ...common, ...windows }, [pet]);
const unauthorized = { code: 'unauthorized', message: 'No.', status: 401 };

function without(headers: Record<string, string>, name: string): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([each]) => each !== name));
}

describe('The comparison of an answer with the document', () => {
  const validator = new AnswerValidator();

  it.each<[string, SeenAnswer]>([
    ['a listing', listed],
    [
      'a creation',
      answer('POST', '/pets', 201, { ...common, ...windows, Location: 'http://h/v1/pets/1' }, pet),
    ],
    ['a deprecated answer', answer('GET', '/pets/1', 200, { ...common, ...windows, ...deprecation }, pet)],
    ['a 401 of the gateway', answer('GET', '/pets', 401, common, unauthorized)],
    [
      'an unknown path',
      answer('GET', '/x', 404, common, { code: 'route_not_found', message: 'm', status: 404 }),
    ],
    ['an unknown code', answer('GET', '/pets', 401, common, { ...unauthorized, code: 'new_code' })],
  ])('accepts %s', (_name, seen) => {
    expect(validator.violations(seen)).toEqual([]);
  });

  it('knows an answer without a body', () => {
    const deletion = { ...answer('DELETE', '/pets', 204, { 'X-Request-Id': 'r' }, ''), text: '' };
    const documented = new AnswerValidator(noContent);
    expect(documented.violations(deletion)).toEqual([]);
    expect(documented.violations({ ...deletion, text: '{}' })).toEqual(['there is a body']);
    expect(documented.violations({ ...deletion, headers: new Headers() })).toEqual([
      'header X-Request-Id is missing',
    ]);
  });

  it.each<[string, SeenAnswer, string]>([
    [
      'a missing rate header',
      answer('GET', '/pets', 401, without(common, 'X-RateLimit-Reset'), unauthorized),
      'header X-RateLimit-Reset is missing',
    ],
    ['a missing RateLimit', answer('GET', '/pets', 200, common, []), 'header RateLimit is missing'],
    [
      'RateLimit without a key',
      answer('GET', '/pets', 401, { ...common, ...windows }, unauthorized),
      'header ratelimit is not listed',
    ],
    [
      'a rate that is not a number',
      answer('GET', '/pets', 401, { ...common, 'X-RateLimit-Limit': 'x' }, unauthorized),
      'header X-RateLimit-Limit:  must be integer',
    ],
    [
      'a deprecated answer that does not say so',
      answer('GET', '/pets/1', 200, { ...common, ...windows }, pet),
      'header Sunset is missing',
    ],
    [
      'a creation without Location',
      answer('POST', '/pets', 201, { ...common, ...windows }, pet),
      'header Location is missing',
    ],
    ['an unlisted status', answer('GET', '/pets', 418, common, unauthorized), 'status 418 is not listed'],
    [
      'a wrong body',
      answer('GET', '/pets', 200, { ...common, ...windows }, [{ ...pet, status: 'lost' }]),
      'body/0/status must be equal to one of the allowed values',
    ],
    [
      'another media type',
      answer('GET', '/pets', 401, { ...common, 'Content-Type': 'text/html' }, unauthorized),
      'Content-Type is "text/html"',
    ],
  ])('reports %s', (_name, seen, violation) => {
    expect(validator.violations(seen)).toContain(violation);
  });
});
