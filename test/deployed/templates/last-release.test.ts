import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { lastReleaseOf } from '../../service/simulation/earlier.ts';

const release = lastReleaseOf('.');
const read = (commit: string | undefined, path: string) =>
  execFileSync('git', ['show', `${commit}:${path}`], { encoding: 'utf8' });

// Before the first release there is nobody to tell of a change, and logical IDs may change.
describe.runIf(release !== undefined)('compared with the last release,', () => {
  it('the interface is not changed without a line in the changelog', () => {
    const isChanged = (path: string) => readFileSync(path, 'utf8') !== read(release, path);
    expect(isChanged('docs/openapi.yaml') && !isChanged('CHANGELOG.md')).toBe(false);
  });

  it.each([
    [
      'logical IDs of what must not be replaced',
      /^(DynamoDB::GlobalTable|ApiGateway::(RestApi|Stage|UsagePlan|DomainName)|SNS::Topic) /,
    ],
    ['keys of tables, whose change would replace them', /^Tables\w+\.KeySchema: /],
  ])('templates keep the %s', (_, kept) => {
    const path = 'test/deployed/templates/templates.snapshot.txt';
    const lines = new Set(readFileSync(path, 'utf8').split('\n'));
    const before = read(release, path)
      .split('\n')
      .filter((line) => kept.test(line));
    expect(before.length).toBeGreaterThan(3);
    expect(before.filter((line) => !lines.has(line))).toEqual([]);
  });
});
