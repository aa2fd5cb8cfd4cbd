import { type ErrorCode, errorBody, errorCatalogue } from '../../functions/http/errors.ts';
import { rateLimitHeaders } from '../../functions/http/rate-headers.ts';
import { headerRefs, type ListedHeaders } from './headers.ts';

const everyAnswer: ListedHeaders['always'] = [...Object.values(rateLimitHeaders), 'X-Request-Id'];
const bothWindows: ListedHeaders['always'] = ['RateLimit-Policy', 'RateLimit'];

/** Sent in every response of a deprecated operation's function. */
const deprecation: ListedHeaders['always'] = ['Deprecation', 'Sunset', 'Successor-Link'];

export interface ResponseOptions {
  readonly deprecated?: boolean;
  /** Replaces the catalogue's message as the description. */
  readonly description?: string;
}

/** Responses of functions only. All others are also gateway responses, with fewer headers. */
const functionsOnly: ReadonlySet<ErrorCode> = new Set(['pet_not_found', 'idempotency_key_reused']);

const ownHeaders: Partial<Record<ErrorCode, ListedHeaders>> = {
  unauthorized: { always: [], sometimes: ['WWW-Authenticate'] },
  rate_limit_exceeded: { always: ['Retry-After'] },
  key_suspended: { always: ['Retry-After'] },
  service_unavailable: { always: ['Retry-After'] },
};

/** The response of a successful operation. */
export function success(
  description: string,
  own: ListedHeaders,
  schema: object,
  example: unknown,
  deprecated = false,
) {
  return {
    description,
    headers: headerRefs({
      always: [...everyAnswer, ...bothWindows, ...own.always, ...(deprecated ? deprecation : [])],
      sometimes: own.sometimes ?? [],
    }),
    content: { 'application/json': { schema, examples: { success: { value: example } } } },
  };
}

/** An error response. All codes must have the same status. */
export function errorResponse(codes: readonly [ErrorCode, ...ErrorCode[]], options: ResponseOptions = {}) {
  const { deprecated = false, description } = options;
  const byFunction = codes.every((code) => functionsOnly.has(code));
  const windows = codes.includes('unauthorized') ? [] : bothWindows;
  const dependsOnSource = [...windows, ...(deprecated ? deprecation : [])];
  return {
    description: description ?? codes.map((code) => errorCatalogue[code].message).join(' Or: '),
    headers: headerRefs({
      always: [
        ...everyAnswer,
        ...(byFunction ? dependsOnSource : []),
        ...(ownHeaders[codes[0]]?.always ?? []),
      ],
      sometimes: [...(byFunction ? [] : dependsOnSource), ...(ownHeaders[codes[0]]?.sometimes ?? [])],
    }),
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/Error' },
        examples: Object.fromEntries(codes.map((code) => [code, { value: exampleOf(code) }])),
      },
    },
  };
}

function exampleOf(code: ErrorCode) {
  return code === 'invalid_request' ? errorBody(code, 'name: is required') : errorBody(code);
}
