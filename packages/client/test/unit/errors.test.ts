import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { knownErrorCodes } from '../../src/errors.ts';
import * as client from '../../src/index.ts';

describe('The known error codes', () => {
  it('are those of the OpenAPI document', async () => {
    const document: unknown = parse(await readFile('docs/openapi.yaml', 'utf8'));
    expect(document).toHaveProperty('components.schemas.Error.properties.code.x-extensible-enum', [
      ...knownErrorCodes,
    ]);
  });
});

describe('The table of errors in the README', () => {
  it('has every class', async () => {
    const readme = await readFile('packages/client/README.md', 'utf8');
    const classes = Object.entries(client).filter(
      ([, value]) => value.prototype instanceof client.AnimalStoreError,
    );
    expect(classes.length).toBeGreaterThan(10);
    for (const [name] of classes) expect(readme).toContain(`\n| \`${name}\` `);
  });
});
