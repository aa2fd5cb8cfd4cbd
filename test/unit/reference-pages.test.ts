import { readFileSync } from 'node:fs';
import { Validator } from '@seriousme/openapi-schema-validator';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { referencePages } from '../../tools/reference/pages.ts';

it('The API reference offers the whole document as valid OpenAPI', async () => {
  const text = String((await referencePages()).get('/openapi.json')?.body);
  const offered = z.record(z.string(), z.unknown()).parse(JSON.parse(text));
  expect(offered).toEqual(parse(readFileSync('docs/openapi.yaml', 'utf8')));
  expect(await new Validator().validate(structuredClone(offered))).toMatchObject({ valid: true });
});
