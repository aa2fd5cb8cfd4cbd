import { rateLimitHeaders } from '../../functions/http/rate-headers.ts';

/** Every response header of the interface. Headers that a client can rely on are `required` where they are listed. */
const definitions = {
  [rateLimitHeaders.limit]: {
    description:
      'The limit in force: of the window, minute or day, that has the fewest requests remaining. 0 without a valid key.',
    schema: { type: 'integer', minimum: 0, examples: [60] },
  },
  [rateLimitHeaders.remaining]: {
    description: 'Requests remaining in that window.',
    schema: { type: 'integer', minimum: 0, examples: [59] },
  },
  [rateLimitHeaders.reset]: {
    description: 'Unix timestamp in seconds at which that limit resets.',
    schema: { type: 'integer', minimum: 0, examples: [1_767_225_660] },
  },
  'RateLimit-Policy': {
    description: 'Both windows: quota `q` in `w` seconds (draft-ietf-httpapi-ratelimit-headers-10).',
    schema: {
      type: 'string',
      pattern: String.raw`^"minute";q=\d+;w=60, "day";q=\d+;w=86400$`,
      examples: ['"minute";q=60;w=60, "day";q=1000;w=86400'],
    },
  },
  RateLimit: {
    description: 'Both windows: `r` requests remaining, reset in `t` seconds.',
    schema: {
      type: 'string',
      pattern: String.raw`^"minute";r=\d+;t=\d+, "day";r=\d+;t=\d+$`,
      examples: ['"minute";r=59;t=42, "day";r=999;t=51042'],
    },
  },
  'X-Request-Id': {
    description: 'Identifies this request. Quote it when you report a problem.',
    schema: { type: 'string', minLength: 1, examples: ['5f0c7f4e-7f0b-4b4c-9d0a-1f2e3d4c5b6a'] },
  },
  'Retry-After': {
    description: 'Whole seconds to wait before the next attempt.',
    schema: { type: 'integer', minimum: 1, examples: [1] },
  },
  Location: {
    description: 'URL of the new animal.',
    schema: {
      type: 'string',
      format: 'uri',
      examples: ['https://example.execute-api.us-east-1.amazonaws.com/v1/pets/115448523194368'],
    },
  },
  'Idempotency-Replayed': {
    description:
      'Sent with a repeated answer: the animal was created by an earlier request with the same key.',
    schema: { type: 'string', enum: ['true'] },
  },
  Link: {
    description: 'The following page as `rel="next"` (RFC 8288). Absent on the last page.',
    schema: {
      type: 'string',
      pattern: '^<[^>]+>; rel="next"$',
      examples: [
        '<https://example.execute-api.us-east-1.amazonaws.com/v1/pets?limit=20&cursor=c>; rel="next"',
      ],
    },
  },
  'Successor-Link': {
    description: 'What to use instead, as `rel="successor-version"` (RFC 5829).',
    schema: {
      type: 'string',
      pattern: '^<[^>]+>; rel="successor-version"$',
      examples: ['<https://example.execute-api.us-east-1.amazonaws.com/v1/pets>; rel="successor-version"'],
    },
  },
  Deprecation: {
    description: 'Since when the operation is deprecated (RFC 9745).',
    schema: { type: 'string', pattern: String.raw`^@\d+$`, examples: ['@1767225600'] },
  },
  Sunset: {
    description: 'When the operation is removed (RFC 8594).',
    schema: { type: 'string', examples: ['Thu, 05 Dec 2030 00:00:00 GMT'] },
  },
  'WWW-Authenticate': {
    description: 'How to authenticate (RFC 6750).',
    schema: { type: 'string', examples: ['Bearer realm="animal-store"'] },
  },
} as const;

type HeaderName = keyof typeof definitions;

/** The header name of a definition, where it differs from the definition's name. */
const wireNames: Partial<Record<HeaderName, string>> = { 'Successor-Link': 'Link' };

export interface ListedHeaders {
  /** In every response. */
  readonly always: readonly HeaderName[];
  /** Not in gateway responses, or only in some cases. */
  readonly sometimes?: readonly HeaderName[];
}

const optional = (name: string): string => `${name}.optional`;

/** The `headers` of a response, as references. */
export function headerRefs({ always, sometimes = [] }: ListedHeaders): Record<string, { $ref: string }> {
  const refs = [
    ...always.map((name) => [wireNames[name] ?? name, name] as const),
    ...sometimes.map((name) => [wireNames[name] ?? name, optional(name)] as const),
  ];
  return Object.fromEntries(
    refs.map(([name, component]) => [name, { $ref: `#/components/headers/${component}` }]),
  );
}

/** The definitions that a part of the document references. */
export function usedHeaders(part: unknown): Record<string, object> {
  const text = JSON.stringify(part);
  const variants = Object.entries(definitions).flatMap(([name, definition]) => [
    [name, { ...definition, required: true }] as const,
    [optional(name), definition] as const,
  ]);
  return Object.fromEntries(variants.filter(([name]) => text.includes(`"#/components/headers/${name}"`)));
}
