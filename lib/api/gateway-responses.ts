import { type ResponseType, ResponseType as Type, type RestApi } from 'aws-cdk-lib/aws-apigateway';
import { Construct } from 'constructs';
import { type ErrorCode, errorBody } from '../../functions/http/errors.ts';

/**
 * What API Gateway answers when it answers by itself, in the `Error` shape and with the headers that every answer
 * bears (interface, sections 2, 7 and 8). Its templates substitute and cannot compute, so the bodies are fixed; none
 * prints `$context.error.message`, which for a bearer header on an unknown route echoes the key.
 *
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/supported-gateway-response-types.html
 */
interface GatewayAnswer {
  readonly type: ResponseType;
  readonly code: ErrorCode;
  /** Where the caller stands: depends on whether the authorizer has run by then. */
  readonly allowance: Allowance;
  /** Seconds. */
  readonly retryAfter?: number;
  /** RFC 6750, section 3. */
  readonly challenge?: string;
}

/** The values of X-RateLimit-Limit, -Remaining and -Reset, as header mappings. */
type Allowance = readonly [limit: string, remaining: string, reset: string];

/** No key is known by then, and without a key there is no allowance. */
const nobody: Allowance = [fixed('0'), fixed('0'), fixed('0')];

/**
 * A caller whose count is unknown to the gateway. An answer made without arithmetic must not promise requests that may
 * be used up, so it tells a moment from which on they surely are not.
 */
const caller: Allowance = ['context.authorizer.perMinute', fixed('0'), 'context.authorizer.throttleReset'];

const callerForToday: Allowance = ['context.authorizer.perDay', fixed('0'), 'context.authorizer.dayReset'];

const noKey = 'Bearer realm="animal-store"';
const badKey = `${noKey}, error="invalid_token"`;

/** Where waiting for the minute's end is what helps. */
const minute = 60;
const hour = 3_600;

const answers: readonly GatewayAnswer[] = [
  // No header, or one that does not look like a key: the authorizer's expression turned it away.
  { type: Type.UNAUTHORIZED, code: 'unauthorized', allowance: nobody, challenge: noKey },
  // The authorizer said no: a key that is unknown, expired, revoked or of another stage.
  { type: Type.ACCESS_DENIED, code: 'unauthorized', allowance: nobody, challenge: badKey },
  // The authorizer's answer is cached, but the key is gone from API Gateway: it was revoked within that time.
  { type: Type.INVALID_API_KEY, code: 'unauthorized', allowance: nobody, challenge: badKey },
  // These three are for requests that API Gateway takes as signed by AWS's scheme, or as without any route.
  { type: Type.MISSING_AUTHENTICATION_TOKEN, code: 'unauthorized', allowance: nobody, challenge: noKey },
  { type: Type.INVALID_SIGNATURE, code: 'unauthorized', allowance: nobody, challenge: badKey },
  { type: Type.EXPIRED_TOKEN, code: 'unauthorized', allowance: nobody, challenge: badKey },
  { type: Type.RESOURCE_NOT_FOUND, code: 'route_not_found', allowance: nobody },

  // The usage plan: its bucket refills within the minute. Its quota ends with the day, but nothing here can count the
  // seconds until then, so a client is asked to come back now and then; the reset tells it the moment.
  { type: Type.THROTTLED, code: 'rate_limit_exceeded', allowance: caller, retryAfter: minute },
  { type: Type.QUOTA_EXCEEDED, code: 'rate_limit_exceeded', allowance: callerForToday, retryAfter: hour },
  // The web ACL has one rule only, and that is one of rate. It judges before the authorizer does.
  { type: Type.WAF_FILTERED, code: 'rate_limit_exceeded', allowance: nobody, retryAfter: minute },

  { type: Type.BAD_REQUEST_BODY, code: 'invalid_request', allowance: caller },
  { type: Type.BAD_REQUEST_PARAMETERS, code: 'invalid_request', allowance: caller },
  { type: Type.REQUEST_TOO_LARGE, code: 'payload_too_large', allowance: caller },
  { type: Type.UNSUPPORTED_MEDIA_TYPE, code: 'unsupported_media_type', allowance: caller },
  // Whatever else AWS refuses, such as a URL that is too long (its 414 becomes the 400 that the body says). The status
  // would be that of every type above, too, if one had none of its own.
  { type: Type.DEFAULT_4XX, code: 'invalid_request', allowance: nobody },

  // The authorizer or a function gave no answer at all: it could not be started, was throttled, or ran out of time,
  // mostly for want of DynamoDB. That passes, so the client is told to come back. 503 rather than API Gateway's
  // 500 and 504, since the catalogue knows one status for "later".
  { type: Type.AUTHORIZER_FAILURE, code: 'service_unavailable', allowance: nobody, retryAfter: 1 },
  { type: Type.INTEGRATION_FAILURE, code: 'service_unavailable', allowance: caller, retryAfter: 1 },
  { type: Type.INTEGRATION_TIMEOUT, code: 'service_unavailable', allowance: caller, retryAfter: 1 },
  // These do not pass: an answer that API Gateway cannot read, or a gateway that is set up wrongly. The last line turns
  // every other 5xx, such as the 502 for a malformed answer, into the 500 that the body says.
  { type: Type.AUTHORIZER_CONFIGURATION_ERROR, code: 'internal_error', allowance: nobody },
  { type: Type.API_CONFIGURATION_ERROR, code: 'internal_error', allowance: caller },
  { type: Type.DEFAULT_5XX, code: 'internal_error', allowance: caller },
];

export class GatewayResponses extends Construct {
  constructor(scope: Construct, id: string, api: RestApi) {
    super(scope, id);
    for (const { type, code, allowance, retryAfter, challenge } of answers) {
      const body = errorBody(code);
      const [limit, remaining, reset] = allowance;
      api.addGatewayResponse(type.responseType, {
        type,
        statusCode: String(body.status),
        responseHeaders: {
          'Content-Type': fixed('application/json'),
          'Cache-Control': fixed('no-store'),
          'X-Request-Id': 'context.requestId',
          'X-RateLimit-Limit': limit,
          'X-RateLimit-Remaining': remaining,
          'X-RateLimit-Reset': reset,
          ...(retryAfter !== undefined && { 'Retry-After': fixed(String(retryAfter)) }),
          ...(challenge !== undefined && { 'WWW-Authenticate': fixed(challenge) }),
        },
        templates: { 'application/json': JSON.stringify(body) },
      });
    }
  }
}

/** A header's value that is the same for every request, as API Gateway wants it written. */
function fixed(value: string): string {
  return `'${value}'`;
}
