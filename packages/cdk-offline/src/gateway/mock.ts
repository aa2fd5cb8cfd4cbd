import { z } from 'zod';
import type { HttpResponse } from '../http/response.ts';
import { TemplateError } from '../template/intrinsics.ts';
import { wholeText } from './pattern.ts';
import {
  type GatewayError,
  gatewayErrors,
  type GatewayResponseInput,
  mappedValue,
} from './gateway-responses.ts';

/**
 * MOCK integrations with constant templates, and with the template that the CDK writes for CORS preflights. Other
 * mapping templates are rejected.
 *
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/how-to-mock-integration.html
 */
export interface MockIntegration {
  /** The status code by media type of the request. */
  readonly statusCodes: ReadonlyMap<string, number>;
  readonly passthrough: 'WHEN_NO_MATCH' | 'WHEN_NO_TEMPLATES' | 'NEVER';
  readonly responses: readonly MockResponse[];
}

interface MockResponse {
  readonly status: number;
  /** For the status code of the request template. The default response has none. */
  readonly pattern: RegExp | undefined;
  /** The sources of the values by header name. */
  readonly headers: Readonly<Record<string, string>>;
  /** By media type. */
  readonly bodies: Readonly<Record<string, ResponseTemplate>>;
}

interface ResponseTemplate {
  readonly body: string;
  /** Whether the value of the Origin header replaces that of Access-Control-Allow-Origin. */
  readonly allowsOrigin: (origin: string) => boolean;
}

export const mockProperties = z.object({
  RequestTemplates: z.record(z.string(), z.string()).default({}),
  PassthroughBehavior: z.enum(['WHEN_NO_MATCH', 'WHEN_NO_TEMPLATES', 'NEVER']).default('WHEN_NO_MATCH'),
  IntegrationResponses: z
    .array(
      z.object({
        StatusCode: z.coerce.number(),
        SelectionPattern: z.string().optional(),
        ResponseParameters: z.record(z.string(), z.string()).default({}),
        ResponseTemplates: z.record(z.string(), z.string()).default({}),
      }),
    )
    .default([]),
});

/** @throws TemplateError for a template that is not constant */
export function readMock(properties: z.infer<typeof mockProperties>): MockIntegration {
  const { RequestTemplates, PassthroughBehavior, IntegrationResponses } = properties;
  return {
    statusCodes: new Map(
      Object.entries(RequestTemplates).map(([type, template]) => [
        type,
        statusCodeOf(template) ?? beyond(template),
      ]),
    ),
    passthrough: PassthroughBehavior,
    responses: IntegrationResponses.map((response) => ({
      status: response.StatusCode,
      pattern: response.SelectionPattern
        ? wholeText(response.SelectionPattern, 'SelectionPattern')
        : undefined,
      headers: Object.fromEntries(
        Object.entries(response.ResponseParameters).map(([target, source]) => [
          target.replace(/^method\.response\.header\./, ''),
          source,
        ]),
      ),
      bodies: Object.fromEntries(
        Object.entries(response.ResponseTemplates).map(([type, template]) => [type, readTemplate(template)]),
      ),
    })),
  };
}

function beyond(template: string): never {
  throw new TemplateError(`the mapping template ${JSON.stringify(template)} is not supported by cdk-offline`);
}

/** API Gateway accepts field names without quotation marks, as the CDK writes them. */
function statusCodeOf(template: string): number | undefined {
  const [, code] =
    /^\s*\{(?:[^{}$#]*,)?\s*["']?statusCode["']?\s*:\s*["']?(\d{3})["']?\s*(?:,[^{}$#]*)?\}\s*$/.exec(
      template,
    ) ?? [];
  return code === undefined ? undefined : Number(code);
}

const directive =
  /#\{?(?:set|if|elseif|else|end|foreach|include|parse|macro|stop|break|evaluate|define)\b|##|#[*[]|\$!?\{?[A-Za-z]/;

function readTemplate(template: string): ResponseTemplate {
  if (!directive.test(template)) return { body: template, allowsOrigin: () => false };
  const condition = originTemplate.exec(template)?.[1];
  if (condition === undefined) return beyond(template);
  const tests = condition.split(' || ').map((test) => originTest(test) ?? beyond(template));
  return { body: '', allowsOrigin: (origin) => tests.some((test) => test(origin)) };
}

/** What the CDK writes for several allowed origins. */
const originTemplate = new RegExp(
  [
    String.raw`^#set\(\$origin = \$input\.params\(\)\.header\.get\("Origin"\)\)`,
    String.raw`#if\(\$origin == ""\)`,
    String.raw`#set\(\$origin = \$input\.params\(\)\.header\.get\("origin"\)\)`,
    String.raw`#end`,
    String.raw`#if\((.*)\)`,
    String.raw`#set\(\$context\.responseOverride\.header\.Access-Control-Allow-Origin = \$origin\)`,
    String.raw`#end\s*$`,
  ].join(String.raw`\s*`),
);

function originTest(condition: string): ((origin: string) => boolean) | undefined {
  const equal = /^\$origin == "([^"]*)"$/.exec(condition.trim())?.[1];
  if (equal !== undefined) return (origin) => origin === equal;
  const pattern = /^\$origin\.matches\("([^"]*)"\)$/.exec(condition.trim())?.[1];
  if (pattern === undefined) return undefined;
  const expression = wholeText(pattern, 'the mapping template');
  return (origin) => expression.test(origin);
}

/** @param body of the request, which gives the status code when no template is for its media type */
export function answerMock(
  { statusCodes, passthrough, responses }: MockIntegration,
  body: string,
  input: GatewayResponseInput,
): HttpResponse | { readonly error: GatewayError } {
  const type = input.header('content-type')?.split(';', 1)[0]?.trim() ?? 'application/json';
  const found = statusCodes.get(type);
  const mayPass =
    passthrough === 'WHEN_NO_MATCH' || (passthrough === 'WHEN_NO_TEMPLATES' && statusCodes.size === 0);
  if (found === undefined && !mayPass) return { error: gatewayErrors.unsupportedMediaType };
  const code = found ?? statusCodeOf(body);
  if (code === undefined) return { error: gatewayErrors.mockFailed };
  const response =
    responses.find(({ pattern }) => pattern?.test(String(code))) ??
    responses.find(({ pattern }) => pattern === undefined);
  if (response === undefined) return { error: gatewayErrors.configuration };

  const accept = input.header('accept')?.split(/[,;]/, 1)[0]?.trim() ?? '';
  const types = Object.keys(response.bodies);
  const mediaType =
    [accept, 'application/json', ...types].find((one) => types.includes(one)) ?? 'application/json';
  const template = response.bodies[mediaType];
  const headers = new Map<string, readonly [string, string]>([['content-type', ['Content-Type', mediaType]]]);
  for (const [name, source] of Object.entries(response.headers)) {
    const value = mappedValue(source, input);
    if (value !== undefined) headers.set(name.toLowerCase(), [name, value]);
  }
  const origin = input.header('origin') ?? '';
  if (template?.allowsOrigin(origin) === true) {
    headers.set('access-control-allow-origin', ['Access-Control-Allow-Origin', origin]);
  }
  return { status: response.status, headers: [...headers.values()], body: Buffer.from(template?.body ?? '') };
}
