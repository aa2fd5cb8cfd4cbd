import { type ResponseType, ResponseType as Type, type RestApi } from 'aws-cdk-lib/aws-apigateway';
import { Construct } from 'constructs';
import { type ErrorCode, errorBody, type gatewayErrors } from '../../functions/http/errors.ts';
import {
  bearerChallenge,
  fixedHeaders,
  rateLimitHeaders,
  requestIdHeader,
} from '../../functions/http/headers.ts';
import type { StageSettings } from '../configuration/settings.ts';

/**
 * API Gateway's own responses, in the shape of all others (docs/interface.md#error). Templates cannot compute, so the
 * bodies are fixed. `$context.error.message` is not used, because on an unknown route it echoes the key.
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/supported-gateway-response-types.html
 */
interface GatewayResponse {
  readonly type: ResponseType;
  readonly code: (typeof gatewayErrors)[number];
  readonly shows: Shown;
  /** Seconds. */
  readonly retryAfter?: number;
  /** RFC 6750, section 3. */
  readonly challenge?: string;
}

type HeaderSource = StageSettings['gatewayResponseHeaders'];

/** What X-RateLimit-* show, see `mappings`. */
type Shown = keyof typeof mappings;

/**
 * The limit and its reset. `minute` and `day` come from the authorizer's context (`toCallerContext` in functions/access/caller.ts),
 * unless the setting `gatewayResponseHeaders` goes back to 0. AWS documents only "request parameters or static values" here, but
 * others have deployed `context.authorizer` in ACCESS_DENIED and UNAUTHORIZED for years (docs/aws-checks.md#api-gateways-own-429).
 * Where the authorizer has not run, API Gateway leaves the header out. `nothing` is 0, for responses to callers who are not known.
 */
const mappings = {
  nothing: { limit: fixed(0), reset: fixed(0) },
  minute: { limit: 'context.authorizer.perMinute', reset: 'context.authorizer.throttleReset' },
  day: { limit: 'context.authorizer.perDay', reset: 'context.authorizer.dayReset' },
} as const satisfies Record<string, RateLimit>;

interface RateLimit {
  readonly limit: string;
  readonly reset: string;
}

const invalidToken = `${bearerChallenge}, error="invalid_token"`;

const responses: readonly GatewayResponse[] = [
  // There is no Authorization header, or it does not match the authorizer's expression.
  { type: Type.UNAUTHORIZED, code: 'unauthorized', shows: 'nothing', challenge: bearerChallenge },
  // The authorizer denied: the key is unknown, expired, revoked or of another stage.
  { type: Type.ACCESS_DENIED, code: 'unauthorized', shows: 'nothing', challenge: invalidToken },
  // API Gateway does not have the key: it was revoked while the authorizer's result was cached, or created seconds ago.
  { type: Type.INVALID_API_KEY, code: 'unauthorized', shows: 'nothing', challenge: invalidToken },
  // Methods that `ANY` does not include, such as TRACE, have no route, so API Gateway expects an AWS signature.
  {
    type: Type.MISSING_AUTHENTICATION_TOKEN,
    code: 'unauthorized',
    shows: 'nothing',
    challenge: bearerChallenge,
  },
  { type: Type.INVALID_SIGNATURE, code: 'unauthorized', shows: 'nothing', challenge: invalidToken },
  { type: Type.EXPIRED_TOKEN, code: 'unauthorized', shows: 'nothing', challenge: invalidToken },
  { type: Type.RESOURCE_NOT_FOUND, code: 'route_not_found', shows: 'nothing' },
  // A Content-Encoding other than gzip and deflate, or a body that it does not describe. API Gateway decompresses the others.
  // https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-make-request-with-compressed-payload.html
  { type: Type.UNSUPPORTED_MEDIA_TYPE, code: 'unsupported_media_type', shows: 'nothing' },

  // The bucket of the usage plan refills within a minute. Its quota ends with the day, but a template cannot compute the
  // seconds until then, so Retry-After is an hour (docs/decisions.md#rate-limits).
  // The throttles of the stage and of the account end in THROTTLED too, and refill within a second. A template cannot tell them from
  // the usage plan's, so the longer time applies. Whether they come before the authorizer, and so without the caller's limits, is
  // not known. https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-request-throttling.html
  { type: Type.THROTTLED, code: 'rate_limit_exceeded', shows: 'minute', retryAfter: 60 },
  { type: Type.QUOTA_EXCEEDED, code: 'rate_limit_exceeded', shows: 'day', retryAfter: 3_600 },
  // The web ACL has only a rate rule. It is evaluated before the authorizer.
  { type: Type.WAF_FILTERED, code: 'rate_limit_exceeded', shows: 'nothing', retryAfter: 60 },

  // Every other 4XX, such as a URL that is too long. A status set here replaces the status of each 4XX type without one
  // of its own, on purpose: the status in the body must be the same.
  { type: Type.DEFAULT_4XX, code: 'invalid_request', shows: 'nothing' },

  // The authorizer threw (AUTHORIZER_FAILURE), or its function is missing (AUTHORIZER_CONFIGURATION_ERROR, which the access log calls
  // API_CONFIGURATION_ERROR): https://github.com/ministackorg/ministack/pull/1756, measured on AWS on 2026-09-16.
  { type: Type.AUTHORIZER_FAILURE, code: 'service_unavailable', shows: 'nothing', retryAfter: 1 },
  { type: Type.AUTHORIZER_CONFIGURATION_ERROR, code: 'service_unavailable', shows: 'nothing', retryAfter: 1 },
  // The function of the operation failed, was throttled or timed out.
  { type: Type.INTEGRATION_FAILURE, code: 'service_unavailable', shows: 'minute', retryAfter: 1 },
  { type: Type.INTEGRATION_TIMEOUT, code: 'service_unavailable', shows: 'minute', retryAfter: 1 },
  // These are not temporary: an invalid configuration, and every other 5XX, such as a response that API Gateway cannot read.
  // Either can occur before the authorizer has run.
  { type: Type.API_CONFIGURATION_ERROR, code: 'internal_error', shows: 'nothing' },
  { type: Type.DEFAULT_5XX, code: 'internal_error', shows: 'nothing' },

  // These are not declared, because they cannot occur or cannot be customized:
  // - BAD_REQUEST_BODY, BAD_REQUEST_PARAMETERS: there is no request validator.
  // - REQUEST_TOO_LARGE: AWS does not support customizing it; API Gateway rejects more than 10 MB with its own body.
];

/** The errors whose responses lack X-RateLimit-Limit and X-RateLimit-Reset if the authorizer has not run. */
export const errorsThatCanLackTheLimit: ReadonlySet<ErrorCode> = new Set(
  responses.filter(({ shows }) => shows !== 'nothing').map(({ code }) => code),
);

export class GatewayResponses extends Construct {
  constructor(scope: Construct, id: string, { api, headers }: { api: RestApi; headers: HeaderSource }) {
    super(scope, id);
    for (const { type, code, shows, retryAfter, challenge } of responses) {
      const body = errorBody(code);
      api.addGatewayResponse(type.responseType, {
        type,
        statusCode: String(body.status),
        responseHeaders: {
          'Content-Type': fixed('application/json'),
          ...Object.fromEntries(Object.entries(fixedHeaders).map(([name, value]) => [name, fixed(value)])),
          // AWS documents no mapping of it either, but it was seen with the right value (ministack pull 1756).
          ...(headers !== 'static' && { [requestIdHeader]: 'context.requestId' }),
          ...rateLimit(mappings[headers === 'caller' ? shows : 'nothing']),
          ...(retryAfter !== undefined && { 'Retry-After': fixed(retryAfter) }),
          ...(challenge !== undefined && { 'WWW-Authenticate': fixed(challenge) }),
        },
        templates: { 'application/json': JSON.stringify(body) },
      });
    }
  }
}

/** The gateway cannot count, so remaining is always 0. */
function rateLimit({ limit, reset }: RateLimit): Record<string, string> {
  const names = rateLimitHeaders;
  return { [names.limit]: limit, [names.remaining]: fixed(0), [names.reset]: reset };
}

/** A static header value, in API Gateway's notation. */
function fixed(value: string | number): string {
  return `'${value}'`;
}
