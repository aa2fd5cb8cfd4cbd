/** A gateway response of the template: what it changes for one type of error. */
export interface GatewayResponse {
  readonly status: number | undefined;
  /** `gatewayresponse.header.NAME` to the source of its value. */
  readonly parameters: Readonly<Record<string, string>>;
  /** By media type. */
  readonly templates: Readonly<Record<string, string>> | undefined;
}

/** An error of the gateway itself, before the template's changes. */
export interface GatewayError {
  /** https://docs.aws.amazon.com/apigateway/latest/developerguide/supported-gateway-response-types.html */
  readonly type: string;
  readonly status: number;
  /** For `$context.error.message`; API Gateway has none when an authorizer fails. */
  readonly message: string | null;
  /** The value of `x-amzn-ErrorType`. */
  readonly errorType: string;
  /** For `$context.error.validationErrorString`: why a body does not fit its model. */
  readonly validation?: string;
}

function error(status: number, type: string, errorType: string, message: string | null): GatewayError {
  return { type, status, message, errorType: `${errorType}Exception` };
}

const denied = 'User is not authorized to access this resource';
const failed = ['InternalServerError', 'Internal server error'] as const;
const longBody = 'HTTP content length exceeded 10485760 bytes.';
const noToken = 'Missing Authentication Token';

export const gatewayErrors = {
  accessDenied: error(403, 'ACCESS_DENIED', 'AccessDenied', denied),
  explicitlyDenied: error(403, 'ACCESS_DENIED', 'AccessDenied', `${denied} with an explicit deny`),
  authorizerConfiguration: error(500, 'AUTHORIZER_CONFIGURATION_ERROR', 'AuthorizerConfiguration', null),
  configuration: error(500, 'API_CONFIGURATION_ERROR', ...failed),
  badRequestBody: error(400, 'BAD_REQUEST_BODY', 'BadRequest', 'Invalid request body'),
  badRequestParameters: error(400, 'BAD_REQUEST_PARAMETERS', 'BadRequest', null),
  /** A function that Lambda throttles. https://repost.aws/knowledge-center/api-gateway-lambda-429 */
  integrationThrottled: error(500, 'INTEGRATION_FAILURE', ...failed),
  /** A function that throws, crashes or times out: what access logs of AWS show. */
  integrationFailed: error(502, 'INTEGRATION_FAILURE', ...failed),
  /** "Execution failed due to configuration error: Malformed Lambda proxy response". */
  malformedProxyResponse: error(502, 'DEFAULT_5XX', ...failed),
  integrationTimeout: error(504, 'INTEGRATION_TIMEOUT', 'InternalServerError', 'Endpoint request timed out'),
  /** "Unable to parse statusCode. It should be an integer that is defined in the request template." */
  mockFailed: error(500, 'DEFAULT_5XX', ...failed),
  unsupportedMediaType: error(415, 'UNSUPPORTED_MEDIA_TYPE', 'BadRequest', 'Unsupported Media Type'),
  invalidApiKey: error(403, 'INVALID_API_KEY', 'Forbidden', 'Forbidden'),
  missingRoute: error(403, 'MISSING_AUTHENTICATION_TOKEN', 'MissingAuthenticationToken', noToken),
  quotaExceeded: error(429, 'QUOTA_EXCEEDED', 'LimitExceeded', 'Limit Exceeded'),
  eventTooLarge: error(413, 'REQUEST_TOO_LARGE', 'RequestTooLarge', 'Request Too Long'),
  requestTooLarge: error(413, 'REQUEST_TOO_LARGE', 'RequestTooLarge', longBody),
  throttled: error(429, 'THROTTLED', 'TooManyRequests', 'Too Many Requests'),
  tokenExpired: error(401, 'UNAUTHORIZED', 'Unauthorized', 'The incoming token has expired'),
  unauthorized: error(401, 'UNAUTHORIZED', 'Unauthorized', 'Unauthorized'),
  uriTooLong: error(414, 'DEFAULT_4XX', 'RequestURITooLong', 'Request URI too long'),
};

/** The values that templates and header mappings can use. */
export interface GatewayResponseInput {
  readonly context: Readonly<Record<string, unknown>>;
  readonly stageVariables: Readonly<Record<string, string>> | null;
  readonly header: (name: string) => string | undefined;
  readonly query: (name: string) => string | undefined;
  readonly path: (name: string) => string | undefined;
}

export interface GatewayAnswer {
  readonly status: number;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string;
}

const plain: GatewayResponse = { status: undefined, parameters: {}, templates: undefined };
const defaultTemplates = { 'application/json': '{"message":$context.error.messageString}' };

/**
 * The answer for an error: the template's gateway response of its type, else that of DEFAULT_4XX or DEFAULT_5XX, else
 * API Gateway's own. The answer to a request that is too large cannot be changed.
 *
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-gatewayResponse-definition.html
 */
export function gatewayAnswer(
  { type, status, message, errorType, validation = '' }: GatewayError,
  responses: ReadonlyMap<string, GatewayResponse>,
  input: GatewayResponseInput,
): GatewayAnswer {
  const fallback = responses.get(status >= 500 ? 'DEFAULT_5XX' : 'DEFAULT_4XX') ?? plain;
  const customized = type === 'REQUEST_TOO_LARGE' ? plain : (responses.get(type) ?? fallback);
  const inherited = type === 'REQUEST_TOO_LARGE' ? undefined : fallback.status;
  const withError = {
    ...input,
    context: {
      ...input.context,
      error: {
        message: message ?? '',
        messageString: JSON.stringify(message),
        responseType: type,
        validationErrorString: validation,
      },
    },
  };
  const [mediaType, template] = chooseTemplate(
    customized.templates ?? defaultTemplates,
    input.header('accept'),
  );
  const headers = new Map<string, readonly [string, string]>();
  const set = (name: string, value: string): void => void headers.set(name.toLowerCase(), [name, value]);
  set('Content-Type', mediaType);
  set('x-amzn-ErrorType', errorType);
  for (const [target, source] of Object.entries(customized.parameters)) {
    const name = /^gatewayresponse\.header\.(.+)$/.exec(target)?.[1];
    const value = mappedValue(source, withError);
    if (name !== undefined && value !== undefined) set(name, value);
  }
  return {
    status: customized.status ?? inherited ?? status,
    headers: [...headers.values()],
    body: renderTemplate(template, withError),
  };
}

function chooseTemplate(
  templates: Readonly<Record<string, string>>,
  accept: string | undefined,
): readonly [mediaType: string, template: string] {
  const wanted = accept?.split(/[,;]/, 1)[0]?.trim();
  const entries = Object.entries(templates);
  return (
    entries.find(([mediaType]) => mediaType === wanted) ??
    entries.find(([mediaType]) => mediaType === 'application/json') ??
    entries[0] ?? ['application/json', '']
  );
}

/**
 * The value of a header mapping: `'static text'`, `context.…`, `stageVariables.…` or `method.request.….NAME`.
 *
 * @returns `undefined` when the value does not exist: the header is omitted
 */
export function mappedValue(source: string, input: GatewayResponseInput): string | undefined {
  const literal = /^'(.*)'$/s.exec(source)?.[1];
  if (literal !== undefined) return literal;
  const [, root, rest] =
    /^(context|stageVariables|method\.request\.(?:header|querystring|path))\.(.+)$/.exec(source) ?? [];
  if (rest === undefined) return undefined;
  if (root === 'context') return textAt(input.context, rest);
  if (root === 'stageVariables') return input.stageVariables?.[rest];
  if (root === 'method.request.header') return input.header(rest);
  return root === 'method.request.querystring' ? input.query(rest) : input.path(rest);
}

/** Replaces the variables of a template; one without a value becomes empty text. */
export function renderTemplate(template: string, input: GatewayResponseInput): string {
  const variable =
    /\$((?:context|stageVariables)(?:\.\w+)+|method\.request\.(?:header|querystring|path)\.[\w-]+)/g;
  return template.replaceAll(variable, (_, source: string) => mappedValue(source, input) ?? '');
}

function textAt(context: Readonly<Record<string, unknown>>, path: string): string | undefined {
  const value = path
    .split('.')
    .reduce<unknown>(
      (parent, part) =>
        typeof parent === 'object' && parent !== null && Object.hasOwn(parent, part)
          ? Reflect.get(parent, part)
          : undefined,
      context,
    );
  return ['string', 'number', 'boolean'].includes(typeof value) ? String(value) : undefined;
}
