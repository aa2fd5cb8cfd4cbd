import { expect, test } from 'vitest';
import { traceId } from '../../../functions/runtime/environment.ts';

const id = '1-6925e5a0-0123456789abcdef01234567';

test.each([
  [`Root=${id};Parent=0123456789abcdef;Sampled=1;Lineage=1:2:0`, id],
  [`Root=${id}`, id],
  ['', undefined],
  [undefined, undefined],
  // What a client makes up must not reach the logs.
  ['Root=as_prod_0123456789abcdefghijABCDEFGHIJ012345;Sampled=1', undefined],
  [`Root=${id}0`, undefined],
  [`Self=1;Root=${id}x`, undefined],
])('the trace of %s is %s', (header, expected) => {
  expect(traceId({ _X_AMZN_TRACE_ID: header })).toBe(expected);
});
