import { fixedPlans, secondsPerDay, secondsPerMinute } from '../../../functions/access/plans.ts';
import {
  deprecationHeaders,
  fixedHeaders,
  rateLimitHeaders,
  requestIdHeader,
} from '../../../functions/http/headers.ts';
import { operations } from '../../../functions/operations.ts';

export type Node = Readonly<Record<string, unknown>>;

// The headers of answers.

export const baseUrl = 'https://example.execute-api.us-east-1.amazonaws.com/v1';
const { perMinute, perDay } = fixedPlans.free;
const wholeNumber = (example: number, minimum = 0) => ({ type: 'integer', minimum, examples: [example] });
const text = (example: string) => ({ type: 'string', examples: [example] });
const only = (value: string) => ({ type: 'string', enum: [value] });
const link = (path: string, relation: string) => ({
  ...text(`<${baseUrl}${path}>; rel="${relation}"`),
  pattern: `^<[^>]+>; rel="${relation}"$`,
});
/** What the service sends with deprecated operations. */
const announced = (header: string) =>
  operations.flatMap(({ deprecated }) => (deprecated ? deprecationHeaders(deprecated)[header]! : []));

export interface Header {
  /** Where it is not the name in the table: two headers can have one name. */
  readonly name?: string;
  readonly text: string;
  readonly schema: Node;
}

/** The headers of every answer, of the functions and of API Gateway itself. */
export const commonHeaders: Readonly<Record<string, Header>> = {
  [rateLimitHeaders.limit]: {
    text: 'The limit of the minute or of the day, whichever has fewer requests remaining. 0 if it is not known, as without a valid key.',
    schema: wholeNumber(perMinute),
  },
  [rateLimitHeaders.remaining]: {
    text: 'Requests remaining in that minute or day.',
    schema: wholeNumber(perMinute - 1),
  },
  [rateLimitHeaders.reset]: {
    text: 'Unix timestamp, in seconds, at which that limit resets.',
    schema: wholeNumber(1_767_225_660),
  },
  [requestIdHeader]: {
    text: 'Identifies this request. Quote it when you report a problem.',
    schema: { ...text('5f0c7f4e-7f0b-4b4c-9d0a-1f2e3d4c5b6a'), minLength: 1 },
  },
  ...Object.fromEntries(
    Object.entries(fixedHeaders).map(([name, value]) => [
      name,
      { text: `Always \`${value}\`.`, schema: only(value) },
    ]),
  ),
};

/** The headers of some answers. */
export const specialHeaders = {
  'RateLimit-Policy': {
    text: 'The limits of the minute and of the day: `q` requests in `w` seconds (draft-ietf-httpapi-ratelimit-headers-11). It changes with the draft.',
    schema: {
      ...text(`"minute";q=${perMinute};w=${secondsPerMinute}, "day";q=${perDay};w=${secondsPerDay}`),
      pattern: `^"minute";q=[0-9]+;w=${secondsPerMinute}, "day";q=[0-9]+;w=${secondsPerDay}$`,
    },
  },
  RateLimit: {
    text: 'What is left of the minute and of the day: `r` requests in the next `t` seconds. It changes with the draft.',
    schema: {
      ...text('"minute";r=59;t=42, "day";r=999;t=51042'),
      pattern: '^"minute";r=[0-9]+;t=[0-9]+, "day";r=[0-9]+;t=[0-9]+$',
    },
  },
  'Retry-After': { text: 'Whole seconds to wait before the next attempt.', schema: wholeNumber(1, 1) },
  Location: {
    text: 'URL of the new animal. You need not request it, because the body is the animal.',
    schema: { ...text(`${baseUrl}/pets/115448523194368`), format: 'uri' },
  },
  'Idempotency-Replayed': {
    text: '`true` if an earlier request with the same `Idempotency-Key` created the animal.',
    schema: only('true'),
  },
  'Next-Link': {
    name: 'Link',
    text: 'The following page as `rel="next"` (RFC 8288). Absent on the last page.',
    schema: link('/pets?limit=20&cursor=c', 'next'),
  },
  'Successor-Link': {
    name: 'Link',
    text: 'What to use instead of a deprecated operation, as `rel="successor-version"` (RFC 5829).',
    schema: link('/pets?status=available', 'successor-version'),
  },
  Deprecation: {
    text: 'Since when the operation is deprecated (RFC 9745).',
    schema: { type: 'string', pattern: '^@[0-9]+$', examples: announced('Deprecation') },
  },
  Sunset: {
    text: 'When the operation is removed (RFC 8594).',
    schema: { type: 'string', examples: announced('Sunset') },
  },
  'WWW-Authenticate': {
    text: 'How to authenticate (RFC 6750).',
    schema: text('Bearer realm="animal-store"'),
  },
} as const satisfies Readonly<Record<string, Header>>;

export type HeaderId = keyof typeof specialHeaders;
export type Occurrence = 'always' | 'sometimes';
