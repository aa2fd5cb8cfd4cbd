import { fixedPlans } from '../../../functions/access/plans.ts';
import { secondsPerDay, secondsPerMinute } from '../../../functions/access/windows.ts';
import { fixedHeaders, requestIdHeader } from '../../../functions/http/common-headers.ts';
import { rateLimitHeaders } from '../../../functions/http/rate-limit-headers.ts';

// The headers of answers, as docs/openapi.yaml describes them.

export interface Header {
  /** The name, where it is not that of the entry. */
  readonly name?: string;
  readonly description: string;
  readonly schema: Readonly<Record<string, unknown>>;
}

export const baseUrl = 'https://example.execute-api.us-east-1.amazonaws.com/v1';
const { perMinute, perDay } = fixedPlans.free;
const wholeNumber = { type: 'integer', minimum: 0 };
const text = (example: string) => ({ type: 'string', examples: [example] });

/** The headers of every answer, of the functions and of API Gateway itself. */
export const common: Readonly<Record<string, Header>> = {
  [rateLimitHeaders.limit]: {
    description:
      'The limit in force: of the window, minute or day, that has the fewest requests remaining. 0 without a valid key.',
    schema: { ...wholeNumber, examples: [perMinute] },
  },
  [rateLimitHeaders.remaining]: {
    description: 'Requests remaining in that window.',
    schema: { ...wholeNumber, examples: [perMinute - 1] },
  },
  [rateLimitHeaders.reset]: {
    description: 'Unix timestamp in seconds at which that limit resets.',
    schema: { ...wholeNumber, examples: [1_767_225_660] },
  },
  [requestIdHeader]: {
    description: 'Identifies this request. Quote it when you report a problem.',
    schema: { ...text('5f0c7f4e-7f0b-4b4c-9d0a-1f2e3d4c5b6a'), minLength: 1 },
  },
  ...Object.fromEntries(
    Object.entries(fixedHeaders).map(([name, value]) => [
      name,
      { description: 'The same in every answer.', schema: { type: 'string', enum: [value] } },
    ]),
  ),
};

/** The headers of some answers. */
export const special: Readonly<Record<string, Header>> = {
  'RateLimit-Policy': {
    description: 'Both windows: quota `q` in `w` seconds (draft-ietf-httpapi-ratelimit-headers-11).',
    schema: {
      ...text(`"minute";q=${perMinute};w=${secondsPerMinute}, "day";q=${perDay};w=${secondsPerDay}`),
      pattern: String.raw`^"minute";q=\d+;w=${secondsPerMinute}, "day";q=\d+;w=${secondsPerDay}$`,
    },
  },
  RateLimit: {
    description: 'Both windows: `r` requests available in the next `t` seconds.',
    schema: {
      ...text('"minute";r=59;t=42, "day";r=999;t=51042'),
      pattern: String.raw`^"minute";r=\d+;t=\d+, "day";r=\d+;t=\d+$`,
    },
  },
  'Retry-After': {
    description: 'Whole seconds to wait before the next attempt.',
    schema: { type: 'integer', minimum: 1, examples: [1] },
  },
  Location: {
    description:
      'URL of the new animal. The body is the animal itself, so there is no need to request it, which is deprecated.',
    schema: { ...text(`${baseUrl}/pets/115448523194368`), format: 'uri' },
  },
  'Idempotency-Replayed': {
    description:
      'Sent with a repeated answer: the animal was created by an earlier request with the same key.',
    schema: { type: 'string', enum: ['true'] },
  },
  'Next-Link': {
    name: 'Link',
    description: 'The following page as `rel="next"` (RFC 8288). Absent on the last page.',
    schema: {
      ...text(`<${baseUrl}/pets?limit=20&cursor=c>; rel="next"`),
      pattern: '^<[^>]+>; rel="next"$',
    },
  },
  'Successor-Link': {
    name: 'Link',
    description:
      'What to use instead, as `rel="successor-version"` (RFC 5829). The list of the animal\'s status when it was found.',
    schema: {
      ...text(`<${baseUrl}/pets?status=available>; rel="successor-version"`),
      pattern: '^<[^>]+>; rel="successor-version"$',
    },
  },
  Deprecation: {
    description: 'Since when the operation is deprecated (RFC 9745).',
    schema: { type: 'string', pattern: String.raw`^@\d+$` },
  },
  Sunset: { description: 'When the operation is removed (RFC 8594).', schema: { type: 'string' } },
  'WWW-Authenticate': {
    description: 'How to authenticate (RFC 6750).',
    schema: text('Bearer realm="animal-store"'),
  },
};
