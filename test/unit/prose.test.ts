import { fromYAMLFilePath } from 'prh';
import { describe, expect, it } from 'vitest';

describe('the list of banned phrases', () => {
  const phrases = fromYAMLFilePath('prh.yml');
  const found = (text: string) => phrases.makeChangeSet('page.md', text).diffs.map(({ index }) => index);

  it('finds a phrase where it is', () => {
    expect(found('All answers carry headers.\nThis one bears none.')).toEqual([36]);
  });

  it.each(['There is no such key.', 'The key is no longer valid.', 'Promise.allSettled', 'outstanding'])(
    'leaves plain English alone: %s',
    (text) => {
      expect(found(text)).toEqual([]);
    },
  );
});
