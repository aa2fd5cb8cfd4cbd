import assert from 'node:assert/strict';
import { z } from 'zod';
import type { Reply } from './client.ts';

/**
 * What the interface promises of an answer, written down independently of the code that makes it: a suite
 * that took its expectations from the service could not find the service wrong.
 */

export const petStatuses = ['available', 'pending', 'sold'] as const;

const petShape = z.strictObject({
  id: z.number(),
  name: z.string(),
  categoryId: z.number(),
  status: z.enum(petStatuses),
});
export type PetSeen = z.infer<typeof petShape>;

const errorShape = z.strictObject({ code: z.string(), message: z.string().min(1), status: z.int() });

export function expectStatus(reply: Reply, status: number): void {
  assert.equal(
    reply.status,
    status,
    `${reply.request} answered ${reply.status} instead of ${status}: ${brief(reply.text)}`,
  );
}

/** An animal in a 200 or 201. */
export function expectPet(reply: Reply, status: number): PetSeen {
  expectStatus(reply, status);
  expectEveryAnswer(reply);
  return parse(petShape, reply);
}

export function expectPets(reply: Reply): PetSeen[] {
  expectStatus(reply, 200);
  expectEveryAnswer(reply);
  return parse(z.array(petShape), reply);
}

/** The `Error` shape: exactly three fields, and the status of the answer repeated in the body. */
export function expectError(reply: Reply, status: number, code: string): string {
  expectStatus(reply, status);
  expectEveryAnswer(reply);
  const error = parse(errorShape, reply);
  assert.equal(
    error.status,
    status,
    `${reply.request}: the body says status ${error.status}, the answer is ${status}`,
  );
  assert.equal(error.code, code, `${reply.request}: the code is ${error.code} instead of ${code}`);
  return error.message;
}

/** 401 with the challenge of RFC 6750, and no allowance where there is no key. */
export function expectUnauthorized(reply: Reply, challenge: string): void {
  expectError(reply, 401, 'unauthorized');
  assert.equal(reply.headers.get('www-authenticate'), challenge, `${reply.request}: WWW-Authenticate`);
  for (const name of rateHeaderNames)
    assert.equal(reply.headers.get(name), '0', `${reply.request}: ${name} without a key`);
}

const rateHeaderNames = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'] as const;

/** The headers that every answer bears, whatever its status. */
export function expectEveryAnswer(reply: Reply): void {
  for (const name of rateHeaderNames) {
    assert.match(
      reply.headers.get(name) ?? '(absent)',
      /^\d+$/,
      `${reply.request} ${reply.status}: header ${name}`,
    );
  }
  assert.ok(
    reply.headers.get('x-request-id'),
    `${reply.request} ${reply.status}: header x-request-id is absent`,
  );
  assert.match(
    reply.headers.get('content-type') ?? '(absent)',
    /^application\/json/,
    `${reply.request}: Content-Type`,
  );
}

export function rateOf(reply: Reply) {
  const [limit, remaining, reset] = rateHeaderNames.map((name) => Number(reply.headers.get(name)));
  return { limit: limit!, remaining: remaining!, reset: reset! };
}

/** The URL of the following page, or `undefined` on the last. */
export function nextOf(reply: Reply): string | undefined {
  return /<([^>]+)>; rel="next"/.exec(reply.headers.get('link') ?? '')?.[1];
}

function parse<T>(schema: z.ZodType<T>, reply: Reply): T {
  let body: unknown;
  try {
    body = JSON.parse(reply.text);
  } catch {
    assert.fail(`${reply.request}: the body is no JSON: ${brief(reply.text)}`);
  }
  const parsed = schema.safeParse(body);
  if (!parsed.success)
    assert.fail(`${reply.request}: ${z.prettifyError(parsed.error)} in ${brief(reply.text)}`);
  return parsed.data;
}

function brief(text: string): string {
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}
