import { describe, expect, it } from 'vitest';
import { nextTarget } from '../../src/links.ts';

describe('The link to the next page', () => {
  it.each([
    ['<http://h/v1/pets?limit=2&cursor=c>; rel="next"', 'http://h/v1/pets?limit=2&cursor=c'],
    ['<http://h/a,b>; rel=next', 'http://h/a,b'],
    ['<http://h/prev>; rel="prev", <http://h/next>; title="x"; rel="last next"', 'http://h/next'],
    ['<http://h/next>;REL="NEXT", <http://h/other>; rel="up"', 'http://h/next'],
  ])('is found in %s', (header, target) => {
    expect(nextTarget(header)).toBe(target);
  });

  it.each([
    null,
    '',
    '<http://h/pets>; rel="successor-version"',
    '<http://h/>; rel="nextish"',
    'http://h; rel="next"',
  ])('is absent from %s', (header) => {
    expect(nextTarget(header)).toBeUndefined();
  });
});
