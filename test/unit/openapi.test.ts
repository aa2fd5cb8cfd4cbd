import { readFile } from 'node:fs/promises';
import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, it } from 'vitest';
import { openApiDocument } from '../../tools/openapi/document.ts';

describe('docs/openapi.json', () => {
  it('is what the code says now (npm run openapi writes it)', async () => {
    const written: unknown = JSON.parse(await readFile('docs/openapi.json', 'utf8'));
    expect(written).toEqual(JSON.parse(JSON.stringify(openApiDocument())));
  });

  it('is a valid OpenAPI 3.1 document', async () => {
    const { valid, errors } = await new Validator().validate(JSON.parse(JSON.stringify(openApiDocument())));
    expect(errors).toBeUndefined();
    expect(valid).toBe(true);
  });
});
