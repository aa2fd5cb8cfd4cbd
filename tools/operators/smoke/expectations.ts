import assert from 'node:assert/strict';
import { z } from 'zod';
import type { Reply } from './client.ts';

/**
 * What the interface promises of an answer, written independently of the code of the service. As clients have to, it ignores
 * fields that it does not know: a version with a new field must pass.
 */

export const petStatuses = ['available', 'pending', 'sold'] as const;

const petShape = z.object({
  id: z.number(),
  name: z.string(),
  categoryId: z.number(),
  status: z.enum(petStatuses),
});
export type PetSeen = z.infer<typeof petShape>;

const errorShape = z.object({ code: z.string(), message: z.string().min(1), status: z.int() });

const rateHeaders = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'] as const;

/** The status, and the headers that every answer has. @returns the body, not all of a long one */
export function expectStatus(reply: Reply, status: number): string {
  const { request } = reply;
  const text = reply.text.length > 300 ? `${reply.text.slice(0, 300)}…` : reply.text;
  assert.equal(reply.status, status, `${request} answered ${reply.status} instead of ${status}: ${text}`);
  expectEveryAnswer(reply);
  return text;
}

/** The same with a body of the given shape. */
function expectAnswer<T>(reply: Reply, status: number, shape: z.ZodType<T>): T {
  const { request } = reply;
  const text = expectStatus(reply, status);
  try {
    return shape.parse(JSON.parse(reply.text));
  } catch (error) {
    const errors = error instanceof z.ZodError ? z.prettifyError(error) : 'the body must be JSON';
    return assert.fail(`${request}: ${errors} in ${text}`);
  }
}

export function expectPet(reply: Reply, status: 200 | 201): PetSeen {
  return expectAnswer(reply, status, petShape);
}

export function expectPets(reply: Reply): PetSeen[] {
  return expectAnswer(reply, 200, z.array(petShape));
}

/** @returns the message */
export function expectError(reply: Reply, status: number, code: string): string {
  const error = expectAnswer(reply, status, errorShape);
  const { request } = reply;
  assert.equal(
    error.status,
    status,
    `${request}: the body says status ${error.status}, the answer is ${status}`,
  );
  assert.equal(error.code, code, `${request}: the code is ${error.code} instead of ${code}`);
  return error.message;
}

/** 401 with the challenge of RFC 6750, and rate headers of 0. */
export function expectUnauthorized(reply: Reply, challenge: string): void {
  expectError(reply, 401, 'unauthorized');
  const { request, headers } = reply;
  assert.equal(headers.get('www-authenticate'), challenge, `${request}: WWW-Authenticate`);
  for (const name of rateHeaders) assert.equal(headers.get(name), '0', `${request}: ${name} without a key`);
}

/**
 * The headers that every answer has, whatever its status. With a setting, a 401 of API Gateway has no request ID. Its 429 and 503 have
 * no limit and no reset if it does not know the key; they are those without `RateLimit`.
 */
export function expectEveryAnswer({ request, status, headers }: Reply): void {
  const mayLackLimit = [429, 503].includes(status) && !headers.has('ratelimit');
  const rate = mayLackLimit ? rateHeaders.filter((name) => headers.has(name)) : rateHeaders;
  for (const [name, pattern] of [
    ...rate.map((header) => [header, /^\d+$/] as const),
    ...(status === 401 ? [] : [['x-request-id', /./] as const]),
    ['content-type', /^application\/json/],
  ] as const)
    assert.match(headers.get(name) ?? '', pattern, `${request} ${status}: header ${name}`);
}

export function rateOf({ headers }: Reply) {
  const [limit, remaining, reset] = rateHeaders.map((name) => Number(headers.get(name)));
  return { limit: limit!, remaining: remaining!, reset: reset! };
}

/** The URL of the following page, or `undefined` on the last. */
export function nextOf({ headers }: Reply): string | undefined {
  return /<([^>]+)>; rel="next"/.exec(headers.get('link') ?? '')?.[1];
}
