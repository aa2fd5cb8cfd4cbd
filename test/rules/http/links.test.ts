import { describe, expect, test } from 'vitest';
import { collectionUrl, itemUrl, nextLink } from '../../../functions/http/links.ts';

const pets = 'https://api.example.com/v1/pets';

describe('the link to the next page', () => {
  test('is the same URL with the filter, the limit and the cursor', () => {
    expect(nextLink(pets, { limit: 7, status: 'sold', cursor: 'AQAA-_' })).toBe(
      `<${pets}?limit=7&status=sold&cursor=AQAA-_>; rel="next"`,
    );
  });
});

describe('the URL of a pet', () => {
  test.each([pets, `${pets}/`])('is below %s', (collection) => {
    expect(itemUrl(collection, 2n ** 63n - 1n)).toBe(`${pets}/9223372036854775807`);
  });
});

describe('the URL of the collection', () => {
  test.each([`${pets}/1`, `${pets}/1/`, `${pets}/%2F..%2F`, `${pets}/%3E%22`, `${pets}/:`])(
    'is derived from %s',
    (member) => {
      expect(collectionUrl(member)).toBe(pets);
    },
  );
});
