import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { knownErrorCodes } from '../../src/errors.ts';

it('The known error codes are those of the OpenAPI document', async () => {
  const document: unknown = parse(await readFile('docs/openapi.yaml', 'utf8'));
  expect(document).toHaveProperty('components.schemas.Error.properties.code.x-extensible-enum', [
    ...knownErrorCodes,
  ]);
});
