import { readFileSync } from 'node:fs';
import { Validator } from '@seriousme/openapi-schema-validator';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { referencePages } from '../../tools/reference/pages.ts';

it('The API reference offers the whole document as valid OpenAPI', async () => {
  const offered: unknown = JSON.parse(String((await referencePages()).get('/openapi.json')?.body));
  expect(offered).toEqual(parse(readFileSync('docs/openapi.yaml', 'utf8')));
  expect(await new Validator().validate(structuredClone(offered as object))).toMatchObject({ valid: true });
});
