import { globSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { planNames } from '../../../functions/access/plans.ts';
import { operations, unmatchedRoute } from '../../../functions/operations.ts';
import { tableDefinitions } from '../../support/table-shapes.ts';

// The linter (oxlint.config.ts) checks imports, and knip finds unused code.

describe('packages/cdk-offline', () => {
  test('contains no route, table or plan of this service', () => {
    const segments = operations
      .flatMap(({ path }) => path.split('/'))
      .map((part) => part.replaceAll(/[{}]/g, ''));
    const attributes = tableDefinitions
      .flatMap(({ AttributeDefinitions }) => AttributeDefinitions.map(({ AttributeName }) => AttributeName))
      // Single words, and the ID of an API key, are also words of AWS.
      .filter((name) => /[a-z][A-Z]/.test(name) && name !== 'keyId');
    const words = [
      ...segments.filter((segment) => segment !== ''),
      ...attributes,
      ...operations.map(({ entry }) => entry),
      unmatchedRoute,
      'RateLimits',
      'byStatus',
      'AnimalStore',
      'X-RateLimit',
      'pet',
      'animals?',
    ];
    const quoted = planNames.map((plan) => `['"\`]${plan}['"\`]`);
    const pattern = new RegExp([...words.map((word) => `\\b${word}\\b`), ...quoted].join('|'), 'i');
    // The pattern finds these words where they are allowed.
    expect(readFileSync('functions/operations.ts', 'utf8')).toMatch(pattern);
    expect("plan: 'free'").toMatch(pattern);
    const files = globSync('packages/cdk-offline/src/**/*.ts');
    expect(files.length).toBeGreaterThan(10);
    const found = files
      .flatMap((path) =>
        readFileSync(path, 'utf8')
          .split('\n')
          .map((line) => `${path}: ${line.trim()}`),
      )
      .filter((line) => pattern.test(line));
    expect(found).toEqual([]);
  });
});
