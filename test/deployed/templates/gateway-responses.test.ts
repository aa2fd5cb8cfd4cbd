import { readFile } from 'node:fs/promises';
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { ResponseType as KnownType } from 'aws-cdk-lib/aws-apigateway';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import * as z from 'zod';
import { toCallerContext } from '../../../functions/access/caller.ts';
import { type ErrorCode, errorBody, errorCatalogue, ServiceError } from '../../../functions/http/errors.ts';
import { pipeline } from '../../../functions/http/pipeline.ts';
import { rateLimitHeaders } from '../../../functions/http/headers.ts';
import { freeCaller, proxyEvent } from '../../support/events.ts';
import { AnswerValidator } from '../../support/openapi-validator.ts';
import { lambdaContext, reply } from '../../support/lambda.ts';
import { resourcesOf, type Stack, stackOf, stacksOf } from './synthesis.ts';

const gatewayResponse = z.object({
  ResponseType: z.string(),
  StatusCode: z.string().optional(),
  ResponseParameters: z.record(z.string(), z.string()),
  ResponseTemplates: z.strictObject({ 'application/json': z.string() }),
});
const errorSchema = z.strictObject({
  code: z.enum(Object.keys(errorCatalogue) as ErrorCode[]),
  message: z.string(),
  status: z.int(),
});

const answersOf = (stack: Stack) =>
  new Map(
    resourcesOf(stack, 'AWS::ApiGateway::GatewayResponse').map(([, { Properties }]) => {
      const { ResponseType, StatusCode, ResponseParameters, ResponseTemplates } =
        gatewayResponse.parse(Properties);
      const text = ResponseTemplates['application/json'];
      const headers = new Map(
        Object.entries(ResponseParameters).map(([name, value]) => [
          name.replace('gatewayresponse.header.', ''),
          value,
        ]),
      );
      return [ResponseType, { status: StatusCode, text, body: errorSchema.parse(JSON.parse(text)), headers }];
    }),
  );
const prod = stackOf('AnimalStore-prod');
/** The answers with the default, `gatewayResponseHeaders: "caller"`. */
const answers = answersOf(prod);
const answersWith = (gatewayResponseHeaders: string) =>
  answersOf(
    stacksOf({ stage: 'prod', stages: { prod: { gatewayResponseHeaders } } }).get('AnimalStore-prod')!,
  );
const types = [...answers.keys()];

/** Types that AWS documents, and why they cannot occur or cannot be customized. */
const undeclared: Readonly<Record<string, string>> = {
  BAD_REQUEST_BODY: 'needs a request validator',
  BAD_REQUEST_PARAMETERS: 'needs a request validator',
  REQUEST_TOO_LARGE: 'cannot be customized',
};

describe('a gateway response', () => {
  it('is declared for every type that can occur, and for no other', () => {
    const known = Object.values(KnownType).flatMap((type) =>
      type instanceof KnownType ? [type.responseType] : [],
    );
    expect([...types, ...Object.keys(undeclared)].toSorted()).toEqual(known.toSorted());
  });

  it('is left out only for types that cannot occur or cannot be customized', () => {
    prod.template.resourceCountIs('AWS::ApiGateway::RequestValidator', 0);
    prod.template.resourcePropertiesCountIs('AWS::ApiGateway::RestApi', { MinimumCompressionSize: 0 }, 0);
    for (const [, { Properties }] of resourcesOf(prod, 'AWS::ApiGateway::Method')) {
      expect(Properties['Integration']).toMatchObject({ Type: 'AWS_PROXY' });
      expect(Properties['Integration']).not.toHaveProperty('PassthroughBehavior');
    }
  });

  // The status of DEFAULT_4XX and DEFAULT_5XX replaces that of every type without one, so each type has its own.
  it.each(types)('has the body of the error catalogue, and its status: %s', (type) => {
    const { status, body } = answers.get(type)!;
    expect(body).toEqual(errorBody(body.code));
    expect(status).toBe(String(body.status));
  });

  it.each(types)('has the headers that every answer of a function has: %s', async (type) => {
    const client = { send: async () => ({ Attributes: {} }) } as unknown as DynamoDBDocumentClient;
    const environment = { RATE_LIMITS_TABLE: 'limits', LIMITER_TIMEOUT_MS: 1_000, METRICS_NAMESPACE: 'test' };
    const settings = { environment, dynamoDb: { client, impatientClient: client } };
    const serve = pipeline('list-pets', settings, async ({ request }) => {
      if (request.resource === '/nowhere') throw new ServiceError('route_not_found');
      return { status: 200, body: [] };
    });
    const log = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    onTestFinished(() => log.mockRestore());
    const { headers } = answers.get(type)!;
    const own = [...headers.keys()].filter((name) => !['Retry-After', 'WWW-Authenticate'].includes(name));
    for (const resource of ['/pets', '/nowhere']) {
      const event = proxyEvent({ resource, caller: freeCaller });
      const answer = reply(await serve(event, lambdaContext()));
      // Both windows are in the table.
      const { RateLimit: _, 'RateLimit-Policy': __, ...ofEvery } = answer.headers;
      expect(own.toSorted()).toEqual(Object.keys(ofEvery).toSorted());
      for (const name of ['Cache-Control', 'Content-Type'])
        expect(headers.get(name)).toBe(`'${ofEvery[name]}'`);
    }
    expect(headers.get('Cache-Control')).toBe("'no-store'");
    expect(headers.get('X-Request-Id')).toBe('context.requestId');
  });

  it('maps nothing of the request with "static", so that API Gateway cannot refuse a mapping', () => {
    const fixed = answersWith('static');
    expect([...fixed.keys()]).toEqual(types);
    for (const [type, { headers }] of fixed) {
      for (const value of headers.values()) expect(value).toMatch(/^'[^']*'$/);
      const others = [...answers.get(type)!.headers].filter(([name]) => name !== 'X-Request-Id');
      expect([...headers]).toEqual(
        others.map(([name, value]) => [name, value.startsWith("'") ? value : "'0'"]),
      );
    }
  });

  it.each(types)('echoes nothing that the client sent: %s', (type) => {
    const { text, headers } = answers.get(type)!;
    expect(text).not.toContain('$');
    for (const value of headers.values()) {
      expect(value).toMatch(/^'[^']*'$|^context\.requestId$|^context\.authorizer\.\w+$/);
    }
  });

  it.each(types)('has WWW-Authenticate with 401, and Retry-After if a retry can succeed: %s', (type) => {
    const { status, headers } = answers.get(type)!;
    expect(headers.has('WWW-Authenticate')).toBe(status === '401');
    expect(headers.has('Retry-After')).toBe(status === '429' || status === '503');
  });

  it('has the Retry-After that docs/api.md says', async () => {
    const rejections = types.filter((type) => answers.get(type)!.status === '429');
    const seconds = rejections.map((type) => answers.get(type)!.headers.get('Retry-After')?.slice(1, -1));
    expect(Object.fromEntries(rejections.map((type, index) => [type, seconds[index]]))).toEqual({
      THROTTLED: '60',
      QUOTA_EXCEEDED: '3600',
      WAF_FILTERED: '60',
    });
    const guide = await readFile('docs/api.md', 'utf8');
    const causes = /There are three causes:\n\n(?:.+\n)+/.exec(guide)?.[0] ?? '';
    const said = [...causes.matchAll(/`Retry-After: (\d+)`/g)].map(([, number]) => number);
    expect(said).toEqual(['60', '60', '3600']);
  });

  it('of a failure has a row in the runbook, if it has a type of its own', async () => {
    const runbook = await readFile('docs/runbook.md', 'utf8');
    const [, section = ''] = /^### `api-5xx`\n([^]*?)^### /m.exec(runbook) ?? [];
    const failures = types.filter(
      (type) => answers.get(type)!.status!.startsWith('5') && type !== 'DEFAULT_5XX',
    );
    expect(failures.filter((type) => !section.includes(`\`${type}\``))).toEqual([]);
    expect(failures.length).toBeGreaterThan(4);
  });

  const limitOf = (all: typeof answers, type: string) => {
    const { limit, remaining, reset } = rateLimitHeaders;
    return [limit, remaining, reset].map((name) => all.get(type)?.headers.get(name));
  };

  it('shows 0 as the limit with "request-id" and "static"', () => {
    for (const all of [answersWith('request-id'), answersWith('static')])
      for (const type of types) expect(limitOf(all, type)).toEqual(["'0'", "'0'", "'0'"]);
  });

  it('shows the limit of the caller, of whom the authorizer has told', () => {
    const minute = ['context.authorizer.perMinute', "'0'", 'context.authorizer.throttleReset'];
    const day = ['context.authorizer.perDay', "'0'", 'context.authorizer.dayReset'];
    const shown = types.filter((type) => limitOf(answers, type).join().includes('authorizer'));
    expect(Object.fromEntries(shown.map((type) => [type, limitOf(answers, type)]))).toEqual({
      THROTTLED: minute,
      QUOTA_EXCEEDED: day,
      INTEGRATION_FAILURE: minute,
      INTEGRATION_TIMEOUT: minute,
    });
  });

  // Of a path that it does not describe, the document says nothing.
  const described = types.filter((type) => answers.get(type)!.body.code !== 'route_not_found');
  it.each(described)(
    'is what docs/openapi.yaml describes, also before the authorizer has run: %s',
    (type) => {
      const { status, text, headers } = answers.get(type)!;
      const sent = [...headers].flatMap(([name, value]) => {
        // API Gateway leaves out a header whose source is missing.
        if (value.startsWith('context.authorizer.')) return [];
        return [[name, value === 'context.requestId' ? 'an-id' : value.slice(1, -1)] as [string, string]];
      });
      const ask = status === '415' ? { method: 'POST', path: '/pets' } : { method: 'GET', path: '/pets/1' };
      const seen = { ...ask, status: Number(status), text, headers: new Headers(sent) };
      expect(new AnswerValidator().violations(seen)).toEqual([]);
    },
  );

  it('reads only values that the authorizer returns', () => {
    const context = toCallerContext(
      { keyHash: 'a', keyId: 'b', plan: 'free', limits: { perMinute: 1, perDay: 1 }, expiresAt: 0 },
      0,
      60,
    );
    const known = Object.keys(context).map((name) => `context.authorizer.${name}`);
    const values = [...answers.values()].flatMap(({ headers }) => [...headers.values()]);
    expect(known).toEqual(
      expect.arrayContaining(values.filter((value) => value.startsWith('context.authorizer.'))),
    );
  });
});
