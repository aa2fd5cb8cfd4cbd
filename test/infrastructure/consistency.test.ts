import { globSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { planNames } from '../../functions/access/plans.ts';
import { operations, unmatchedRoute } from '../../functions/operations.ts';
import { tableNames } from '../../functions/tables.ts';
import { titleCase } from '../../lib/title-case.ts';
import { expiring, tableShapes, timeToLiveAttribute } from '../support/table-shapes.ts';
import { idOf, resourcesOf, stackOf } from './synthesis.ts';

// The linter (oxlint.config.ts) checks imports, and knip finds unused code.

describe('packages/cdk-offline', () => {
  test('contains no route, table or plan of this service', () => {
    const segments = operations
      .flatMap(({ path }) => path.split('/'))
      .map((part) => part.replaceAll(/[{}]/g, ''));
    const attributes = Object.values(tableShapes)
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

describe('the tables of the tests', () => {
  const table = z.object({
    KeySchema: z.array(z.unknown()),
    AttributeDefinitions: z.array(z.object({ AttributeName: z.string(), AttributeType: z.string() })),
    GlobalSecondaryIndexes: z
      .array(z.object({ IndexName: z.string(), KeySchema: z.array(z.unknown()), Projection: z.unknown() }))
      .optional(),
    TimeToLiveSpecification: z.object({ AttributeName: z.string(), Enabled: z.literal(true) }).optional(),
  });
  const stack = stackOf('AnimalStore-local');
  const shapeOf = (output: string): unknown => {
    const { Properties } = stack.Resources[idOf(stack.Outputs[output]?.Value)]!;
    const { TimeToLiveSpecification: timeToLive, AttributeDefinitions, ...shape } = table.parse(Properties);
    const byName = AttributeDefinitions.toSorted((a, b) => (a.AttributeName < b.AttributeName ? -1 : 1));
    return { ...shape, AttributeDefinitions: byName, timeToLive: timeToLive?.AttributeName };
  };

  test.each(tableNames)('have the same schema as in the stack: %s', (name) => {
    const shape = titleCase(name) as keyof typeof tableShapes;
    const timeToLive = expiring.includes(shape) ? timeToLiveAttribute : undefined;
    expect(shapeOf(`${shape}TableName`)).toEqual({ ...tableShapes[shape], timeToLive });
  });

  test('are all tables of the stack', () => {
    expect(resourcesOf(stack, 'AWS::DynamoDB::GlobalTable').length).toBe(Object.keys(tableShapes).length);
  });
});
