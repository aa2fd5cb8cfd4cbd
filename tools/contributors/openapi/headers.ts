import { fixedPlans, secondsPerDay, secondsPerMinute } from '../../../functions/access/plans.ts';
import { type ErrorCode, gatewayErrors } from '../../../functions/http/errors.ts';
import {
  bearerChallenge,
  deprecationHeaders,
  fixedHeaders,
  rateHeaders,
  rateLimitHeaders,
  requestIdHeader,
} from '../../../functions/http/headers.ts';
import { itemUrl, nextLink, successorLink } from '../../../functions/http/links.ts';
import { isIdempotent, type Operation, operations } from '../../../functions/operations.ts';
import { pageSize } from '../../../functions/pets/listing.ts';
import { bodies, type JsonObject } from './bodies.ts';
import { baseUrl } from './introduction.ts';

// The headers of answers: what docs/openapi.yaml and docs/interface.md say of each, and which answers have it.

const { perMinute, perDay } = fixedPlans.free;
const first = (limit: number) => ({ limit, remaining: limit - 1 });
const now = 1_767_225_618;
/** What the service sends for the first request of a minute and a day, of the plan Free. */
const sent = rateHeaders(
  {
    minute: { name: 'minute', ...first(perMinute), length: secondsPerMinute, reset: now + 42 },
    day: { name: 'day', ...first(perDay), length: secondsPerDay, reset: now + 51_042 },
    inForce: 'minute',
  },
  now,
);
const pets = `${baseUrl}/pets`;
/** What the service sends with deprecated operations. */
const announced = (header: string) =>
  operations.flatMap(({ deprecated }) => (deprecated ? deprecationHeaders(deprecated)[header]! : []));

const wholeNumber = (example: number, minimum = 0) => ({ type: 'integer', minimum, examples: [example] });
const text = (example: string) => ({ type: 'string', examples: [example] });
const only = (value: string) => ({ type: 'string', enum: [value] });
/** A text that has other numbers for these letters. */
const numbered = (example: string, letters: string) => ({
  ...text(example),
  pattern: `^${example.replaceAll(new RegExp(`([${letters}])=\\d+`, 'g'), '$1=[0-9]+')}$`,
});
const link = (example: string) => ({ ...text(example), pattern: `^${example.replace(/<.*>/, '<[^>]+>')}$` });

export interface Header {
  /** Where it is not the name in the table: two headers can have one name. */
  readonly name?: string;
  readonly description: string;
  /** Which responses have it. The reference page then describes it once, and not with each of them. */
  readonly responses?: string;
  readonly schema: JsonObject;
}

/** The headers of every answer, of the functions and of API Gateway itself. */
export const commonHeaders: Readonly<Record<string, Header>> = {
  [rateLimitHeaders.limit]: {
    description:
      'The limit of the minute or of the day, whichever has fewer requests remaining. 0 if it is not known, as without a valid key.',
    schema: wholeNumber(Number(sent[rateLimitHeaders.limit])),
  },
  [rateLimitHeaders.remaining]: {
    description: 'Requests remaining in that minute or day.',
    schema: wholeNumber(Number(sent[rateLimitHeaders.remaining])),
  },
  [rateLimitHeaders.reset]: {
    description: 'Unix timestamp, in seconds, at which that limit resets.',
    schema: wholeNumber(Number(sent[rateLimitHeaders.reset])),
  },
  [requestIdHeader]: {
    description: 'Identifies this request. Quote it when you report a problem.',
    schema: { ...text('5f0c7f4e-7f0b-4b4c-9d0a-1f2e3d4c5b6a'), minLength: 1 },
  },
  ...Object.fromEntries(
    Object.entries(fixedHeaders).map(([name, value]) => [
      name,
      { description: `Always \`${value}\`.`, schema: only(value) },
    ]),
  ),
};

/** The headers of some answers. */
export const specialHeaders = {
  'RateLimit-Policy': {
    description:
      'The limits of the minute and of the day: `q` requests in `w` seconds (draft-ietf-httpapi-ratelimit-headers-11).',
    responses: 'Every response to a valid key has it.',
    schema: numbered(sent['RateLimit-Policy']!, 'q'),
  },
  RateLimit: {
    description: 'What is left of the minute and of the day: `r` requests in the next `t` seconds.',
    responses: 'Every response to a valid key has it.',
    schema: numbered(sent['RateLimit']!, 'rt'),
  },
  'Retry-After': {
    description: 'Whole seconds to wait before the next attempt.',
    responses: 'A 429 and a 503 have it.',
    schema: wholeNumber(1, 1),
  },
  Location: {
    description: 'URL of the new animal. You need not request it, because the body is the animal.',
    schema: { ...text(itemUrl(pets, BigInt(bodies.Pet.fields.id.sample))), format: 'uri' },
  },
  'Idempotency-Replayed': {
    description: '`true` if an earlier request with the same `Idempotency-Key` created the animal.',
    schema: only('true'),
  },
  'Next-Link': {
    name: 'Link',
    description: 'The following page as `rel="next"` (RFC 8288). Absent on the last page.',
    schema: link(nextLink(pets, { limit: pageSize.default, cursor: 'c' })),
  },
  'Successor-Link': {
    name: 'Link',
    description: 'What to use instead of a deprecated operation, as `rel="successor-version"` (RFC 5829).',
    responses: 'Responses of a deprecated operation have it.',
    schema: link(successorLink(`${pets}?status=available`)),
  },
  Deprecation: {
    description: 'Since when the operation is deprecated (RFC 9745).',
    responses: 'Responses of a deprecated operation have it.',
    schema: { type: 'string', pattern: '^@[0-9]+$', examples: announced('Deprecation') },
  },
  Sunset: {
    description: 'When the operation is removed (RFC 8594).',
    responses: 'Responses of a deprecated operation have it.',
    schema: { type: 'string', examples: announced('Sunset') },
  },
  'WWW-Authenticate': {
    description: 'How to authenticate (RFC 6750).',
    responses: 'A 401 has it.',
    schema: text(bearerChallenge),
  },
} as const satisfies Readonly<Record<string, Header>>;

type HeaderId = keyof typeof specialHeaders;
/** In each answer with a status, or in some. */
type Occurrence = 'always' | 'sometimes';
/** Those of an answer besides `commonHeaders`. What is said of one of these replaces that it is in every answer. */
export type Occurrences = {
  readonly [Id in HeaderId | (typeof rateLimitHeaders)[keyof typeof rateLimitHeaders]]?: Occurrence;
};

const windows = (occurrence: Occurrence): Occurrences => ({
  'RateLimit-Policy': occurrence,
  RateLimit: occurrence,
});
const deprecation = (occurrence: Occurrence): Occurrences => ({
  Deprecation: occurrence,
  Sunset: occurrence,
  'Successor-Link': occurrence,
});

/** @param own what operations.ts says */
export function headersOfSuccess(operation: Operation, own: Occurrences = {}): Occurrences {
  return {
    ...windows('always'),
    ...(operation.deprecated && deprecation('always')),
    ...own,
    ...(isIdempotent(operation) && { 'Idempotency-Replayed': 'sometimes' }),
  };
}

const fromGateway = new Set<ErrorCode>(gatewayErrors);

/**
 * @param codes the errors with this status
 * @param canLackTheLimit API Gateway answers one of them before it knows whose key it is
 */
export function headersOfErrors(
  status: number,
  codes: readonly ErrorCode[],
  { deprecated }: Operation,
  canLackTheLimit: boolean,
): Occurrences {
  // API Gateway's own answers have fewer headers.
  const occurrence = codes.some((code) => fromGateway.has(code)) ? 'sometimes' : 'always';
  return {
    ...(canLackTheLimit && {
      [rateLimitHeaders.limit]: 'sometimes',
      [rateLimitHeaders.reset]: 'sometimes',
    }),
    ...([429, 503].includes(status) && { 'Retry-After': 'always' }),
    ...(status !== 401 && windows(occurrence)),
    ...(deprecated && deprecation(occurrence)),
    ...(status === 401 && { 'WWW-Authenticate': 'sometimes' }),
  };
}
