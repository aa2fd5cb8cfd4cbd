import { readFile } from 'node:fs/promises';
import { Validator } from '@seriousme/openapi-schema-validator';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { newPet } from '../../functions/pets/schema.ts';
import { openApiDocument } from '../../tools/openapi/document.ts';
import { namePattern } from '../../tools/openapi/schemas.ts';

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

  it('accepts exactly the names that the service accepts', () => {
    const pattern = new RegExp(namePattern, 'u');
    const awkward = fc.constantFrom(
      ' ',
      '\u200b',
      '\u0000',
      '\u00a0',
      '\ud800',
      '\udc00',
      '\ufffd',
      '\ue000',
      'é',
      '🐈',
      '\n',
    );
    const name = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.array(awkward, { maxLength: 6 }).map((parts) => parts.join('')),
    );
    fc.assert(
      fc.property(name, (text) => {
        // minLength and maxLength state the rest of the rule.
        fc.pre(Array.from(text).length <= 255);
        expect(pattern.test(text)).toBe(newPet.safeParse({ name: text, categoryId: 1n }).success);
      }),
      { numRuns: 2_000 },
    );
  });
});
