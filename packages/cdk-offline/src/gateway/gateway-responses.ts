/**
 * What API Gateway answers by itself, and how a template may change it.
 *
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/supported-gateway-response-types.html
 */

export const gatewayResponseTypes = [
  'ACCESS_DENIED',
  'API_CONFIGURATION_ERROR',
  'AUTHORIZER_CONFIGURATION_ERROR',
  'AUTHORIZER_FAILURE',
  'BAD_REQUEST_BODY',
  'BAD_REQUEST_PARAMETERS',
  'DEFAULT_4XX',
  'DEFAULT_5XX',
  'EXPIRED_TOKEN',
  'INTEGRATION_FAILURE',
  'INTEGRATION_TIMEOUT',
  'INVALID_API_KEY',
  'INVALID_SIGNATURE',
  'MISSING_AUTHENTICATION_TOKEN',
  'QUOTA_EXCEEDED',
  'REQUEST_TOO_LARGE',
  'RESOURCE_NOT_FOUND',
  'THROTTLED',
  'UNAUTHORIZED',
  'UNSUPPORTED_MEDIA_TYPE',
  'WAF_FILTERED',
] as const;
type GatewayResponseType = (typeof gatewayResponseTypes)[number];

/** A gateway response of the template: how the answers of one type differ from API Gateway's own. */
export interface GatewayResponse {
  readonly status: number | undefined;
  /** `gatewayresponse.header.NAME` to what its value is taken from. */
  readonly parameters: Readonly<Record<string, string>>;
  /** By media type. */
  readonly templates: Readonly<Record<string, string>> | undefined;
}

/** An answer of the gateway's own, before the template's changes. */
export interface GatewayError {
  readonly type: GatewayResponseType;
  readonly status: number;
  /** For `$context.error.message`; API Gateway has none when an authorizer fails. */
  readonly message: string | null;
  /** The value of `x-amzn-ErrorType`. */
  readonly errorType: string;
}

function error(
  type: GatewayResponseType,
  status: number,
  message: string | null,
  errorType: string,
): GatewayError {
  return { type, status, message, errorType };
}

export const gatewayErrors = {
  accessDenied: error(
    'ACCESS_DENIED',
    403,
    'User is not authorized to access this resource',
    'AccessDeniedException',
  ),
  explicitlyDenied: error(
    'ACCESS_DENIED',
    403,
    'User is not authorized to access this resource with an explicit deny',
    'AccessDeniedException',
  ),
  authorizerConfiguration: error(
    'AUTHORIZER_CONFIGURATION_ERROR',
    500,
    null,
    'AuthorizerConfigurationException',
  ),
  configuration: error(
    'API_CONFIGURATION_ERROR',
    500,
    'Internal server error',
    'InternalServerErrorException',
  ),
  /** A function that Lambda throttles. https://repost.aws/knowledge-center/api-gateway-lambda-429 */
  integrationThrottled: error(
    'INTEGRATION_FAILURE',
    500,
    'Internal server error',
    'InternalServerErrorException',
  ),
  integrationFailed: error('DEFAULT_5XX', 502, 'Internal server error', 'InternalServerErrorException'),
  integrationTimeout: error(
    'INTEGRATION_TIMEOUT',
    504,
    'Endpoint request timed out',
    'InternalServerErrorException',
  ),
  invalidApiKey: error('INVALID_API_KEY', 403, 'Forbidden', 'ForbiddenException'),
  missingRoute: error(
    'MISSING_AUTHENTICATION_TOKEN',
    403,
    'Missing Authentication Token',
    'MissingAuthenticationTokenException',
  ),
  quotaExceeded: error('QUOTA_EXCEEDED', 429, 'Limit Exceeded', 'LimitExceededException'),
  eventTooLarge: error('REQUEST_TOO_LARGE', 413, 'Request Too Long', 'RequestTooLargeException'),
  requestTooLarge: error(
    'REQUEST_TOO_LARGE',
    413,
    'HTTP content length exceeded 10485760 bytes.',
    'RequestTooLargeException',
  ),
  throttled: error('THROTTLED', 429, 'Too Many Requests', 'TooManyRequestsException'),
  unauthorized: error('UNAUTHORIZED', 401, 'Unauthorized', 'UnauthorizedException'),
  uriTooLong: error('DEFAULT_4XX', 414, 'Request URI too long', 'RequestURITooLongException'),
} satisfies Record<string, GatewayError>;

/** What templates and header mappings may refer to. */
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
  { type, status, message, errorType }: GatewayError,
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
      error: { message: message ?? '', messageString: JSON.stringify(message), responseType: type },
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
 * @returns `undefined` when there is no such value: the header is left out
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
  let value: unknown = context;
  for (const part of path.split('.')) {
    value =
      typeof value === 'object' && value !== null && Object.hasOwn(value, part)
        ? Reflect.get(value, part)
        : undefined;
  }
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : undefined;
}
