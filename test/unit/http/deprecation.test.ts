import { expect, test } from 'vitest';
import { deprecationHeaders } from '../../../functions/http/deprecation.ts';

test('a deprecated operation says since when (RFC 9745), until when (RFC 8594) and what replaces it', () => {
  expect(
    deprecationHeaders({
      since: new Date('2026-01-01T00:00:00Z'),
      removal: new Date('2030-12-05T00:00:00Z'),
      successor: 'https://api.example.com/v1/pets',
    }),
  ).toEqual({
    Deprecation: '@1767225600',
    Sunset: 'Thu, 05 Dec 2030 00:00:00 GMT',
    Link: '<https://api.example.com/v1/pets>; rel="successor-version"',
  });
});
