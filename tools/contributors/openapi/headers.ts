import { fixedPlans, secondsPerDay, secondsPerMinute } from '../../../functions/access/plans.ts';
import {
  deprecationHeaders,
  fixedHeaders,
  rateLimitHeaders,
  requestIdHeader,
} from '../../../functions/http/headers.ts';
import { operations } from '../../../functions/operations.ts';
import type { Node } from './schemas.ts';

// The headers of answers as JSON Schema, in the words of docs/interface.md.

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

/** The headers of every answer, of the functions and of API Gateway itself. */
export const commonHeaders: Readonly<Record<string, Node>> = {
  [rateLimitHeaders.limit]: wholeNumber(perMinute),
  [rateLimitHeaders.remaining]: wholeNumber(perMinute - 1),
  [rateLimitHeaders.reset]: wholeNumber(1_767_225_660),
  [requestIdHeader]: { ...text('5f0c7f4e-7f0b-4b4c-9d0a-1f2e3d4c5b6a'), minLength: 1 },
  ...Object.fromEntries(Object.entries(fixedHeaders).map(([name, value]) => [name, only(value)])),
};

/** The headers of some answers. */
export const specialHeaders: Readonly<Record<string, Node>> = {
  'RateLimit-Policy': {
    ...text(`"minute";q=${perMinute};w=${secondsPerMinute}, "day";q=${perDay};w=${secondsPerDay}`),
    pattern: `^"minute";q=[0-9]+;w=${secondsPerMinute}, "day";q=[0-9]+;w=${secondsPerDay}$`,
  },
  RateLimit: {
    ...text('"minute";r=59;t=42, "day";r=999;t=51042'),
    pattern: '^"minute";r=[0-9]+;t=[0-9]+, "day";r=[0-9]+;t=[0-9]+$',
  },
  'Retry-After': wholeNumber(1, 1),
  Location: { ...text(`${baseUrl}/pets/115448523194368`), format: 'uri' },
  'Idempotency-Replayed': only('true'),
  'Next-Link': link('/pets?limit=20&cursor=c', 'next'),
  'Successor-Link': link('/pets?status=available', 'successor-version'),
  Deprecation: { type: 'string', pattern: '^@[0-9]+$', examples: announced('Deprecation') },
  Sunset: { type: 'string', examples: announced('Sunset') },
  'WWW-Authenticate': text('Bearer realm="animal-store"'),
};
