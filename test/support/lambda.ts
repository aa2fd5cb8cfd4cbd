import type { Context } from 'aws-lambda';
import * as z from 'zod/mini';
import { parseJson } from '../../functions/http/exact-json.ts';

/**
 * What Lambda passes a function besides the event.
 *
 * @param remainingMs until Lambda ends the function; by default more than a busy machine needs
 */
export function lambdaContext(remainingMs = 120_000): Context {
  const end = performance.now() + remainingMs;
  return {
    callbackWaitsForEmptyEventLoop: true,
    functionName: 'function',
    functionVersion: '1',
    invokedFunctionArn: 'arn:aws:lambda:eu-central-1:123456789012:function:function:live',
    memoryLimitInMB: '256',
    awsRequestId: 'c6af9ac6-7b61-11e6-9a41-93e8deadbeef',
    logGroupName: '/aws/lambda/function',
    logStreamName: '2026/07/01/[1]0123456789abcdef',
    getRemainingTimeInMillis: () => Math.max(0, end - performance.now()),
    done: () => {},
    fail: () => {},
    succeed: () => {},
  };
}

/** What API Gateway takes from a function as its answer: nothing else may be in it. */
const proxyResult = z.strictObject({
  statusCode: z.int(),
  headers: z.record(z.string(), z.string()),
  body: z.string(),
});

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The body as it was written. */
  readonly text: string;
  /** The body, whole numbers as bigint. `undefined` if there is none. */
  readonly body: unknown;
}

/** @throws ZodError where API Gateway would answer 502 */
export function reply(result: unknown): Reply {
  const { statusCode, headers, body } = z.parse(proxyResult, result);
  for (const [name, value] of Object.entries(headers)) {
    // This throws for what cannot be sent, above all a line break.
    new Headers().append(name, value);
  }
  return { status: statusCode, headers, text: body, body: body === '' ? undefined : parseJson(body) };
}
