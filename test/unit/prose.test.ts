import { fromYAMLFilePath } from 'prh';
import { describe, expect, it } from 'vitest';

describe('the list of banned phrases', () => {
  const phrases = fromYAMLFilePath('prh.yml');
  const found = (text: string) => phrases.makeChangeSet('page.md', text).diffs.map(({ index }) => index);

  it('finds a phrase where it is', () => {
    expect(found('All answers carry headers.\nThis one bears none.')).toEqual([36]);
  });

  it.each([
    'is no e-mail address',
    'is no JSON',
    'is no key of this stage',
    'cursor: is none that this service gave out',
    'It is none that "list" printed.',
    'the stored item is no animal',
    'a stored record that is none',
    'what is left of the original',
    'where that is not nothing',
    'without a thought',
    'make keys whole again',
    'amiss',
    'settle',
    'tidy',
    'unsettled',
    'bears headers',
    'stands in a file',
    'befalls all',
    'all alike',
    'is to be had',
    'tells what happened',
    'what became of it',
    'has it answered 429',
    'Two lines',
    'A first conversation',
    'Which command?',
    'The call is not right',
    'In all, over the time shown',
    'Ids drawn twice',
    'interface Exchange',
    'interface Standing',
    'type Verdict',
    'class Refusal',
    'interface Fault',
    'unlessAborted(promise)',
    'unlessStale(promise)',
  ])('finds the phrase in comments, messages and names: %s', (phrase) => {
    expect(found(`// ${phrase}`)).not.toEqual([]);
  });

  it.each([
    'There is no such key.',
    'The key is no longer valid.',
    'Promise.allSettled',
    'outstanding',
    'default',
    'FaultInjector',
  ])('leaves plain English alone: %s', (text) => {
    expect(found(text)).toEqual([]);
  });
});
