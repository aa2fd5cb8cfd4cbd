import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

test('the README has the test of a counter that runs here', () => {
  const [readme, example] = ['../../README.md', 'counter.test.ts'].map((path) =>
    readFileSync(join(import.meta.dirname, path), 'utf8'),
  );
  const [, code] = /```ts\n(.*?)```/s.exec(readme!)!;
  const published = example!
    .replace("'../../src/index.ts'", "'dynamodb-interleavings'")
    .replace('import { expect, test }', 'import { test }')
    .replace('const visits = verify({', 'await verify({')
    .replace("  await expect(visits).rejects.toThrow('The result is not serializable');\n", '');
  expect(code).toBe(published);
});
