import middy, { type MiddlewareObj } from '@middy/core';
import type { APIGatewayAuthorizerResult } from 'aws-lambda';
import * as z from 'zod/mini';
import { toCallerContext } from './access/caller.ts';
import { decideKey, findKey } from './access/key-records.ts';
import { hashOfKey, keyOfHeader, stageOfKey } from './access/keys.ts';
import { timeToAnswer, withDeadline } from './runtime/deadline.ts';
import { connect, connectionEnvironment } from './dynamodb/connection.ts';
import { nonEmptyText, traceId, wholeNumber } from './runtime/environment.ts';
import { toUnixSeconds } from './runtime/unix-time.ts';
import { tableVariables } from './tables.ts';

const environment = z.parse(
  z.extend(connectionEnvironment, {
    [tableVariables.apiKeys]: nonEmptyText,
    STAGE: nonEmptyText,
    AUTHORIZER_CACHE_SECONDS: wholeNumber,
  }),
  process.env,
);
const table = { client: connect(environment).client, tableName: environment.API_KEYS_TABLE };

const tokenEvent = z.object({ authorizationToken: z.string(), methodArn: z.string() });

/** The input of the handler. It completes `decision`, the fields of the log line. */
interface Attempt {
  readonly event: unknown;
  readonly decision: Record<string, string | undefined>;
}

/** A middleware that writes one log line for each decision. Lambda logs an error by itself. */
function recordDecisions(): MiddlewareObj<Attempt, unknown, unknown> {
  return {
    before: (step) => {
      step.event = { event: step.event, decision: { operation: 'authorize', traceId: traceId() } };
    },
    after: ({ event }) => {
      console.info(event.decision);
    },
  };
}

/**
 * Returns the caller and the limits of their plan (docs/interface.md#authentication), or a denial, which API Gateway
 * answers with 401. It answers an error with 503.
 */
export const handler = middy<unknown, APIGatewayAuthorizerResult, unknown>({ timeoutEarlyInMillis: 0 })
  .use(recordDecisions())
  .handler(async ({ event, decision }, context) => {
    const { authorizationToken, methodArn } = z.parse(tokenEvent, event);
    /** API Gateway caches a denial like an approval, so repeated attempts with one key run no code. */
    const deny = (reason: string, keyId?: string) => {
      Object.assign(decision, { outcome: 'denied', reason, keyId });
      return { principalId: keyId ?? 'unknown', policyDocument: policy('Deny', methodArn) };
    };
    const key = keyOfHeader(authorizationToken);
    const stage = key === undefined ? undefined : stageOfKey(key);
    if (key === undefined || stage === undefined) return deny('malformed');
    if (stage !== environment.STAGE) return deny('other_stage');

    const keyHash = hashOfKey(key);
    const record = await withDeadline(
      'The lookup of the API key',
      context.getRemainingTimeInMillis() - timeToAnswer,
      (signal) => findKey(table, keyHash, signal),
    );
    const now = toUnixSeconds(Date.now());
    const found = decideKey(record, now);
    if (found.kind === 'denied') return deny(found.reason, record?.keyId);
    const { caller, gatewayValue } = found;
    Object.assign(decision, { outcome: 'granted', keyId: caller.keyId, plan: caller.plan });
    return {
      principalId: caller.keyId,
      policyDocument: policy('Allow', methodArn),
      usageIdentifierKey: gatewayValue,
      context: toCallerContext(caller, now, environment.AUTHORIZER_CACHE_SECONDS),
    };
  });

/** The policy is for the whole stage, because API Gateway caches it and uses it for every route. */
function policy(effect: 'Allow' | 'Deny', methodArn: string): APIGatewayAuthorizerResult['policyDocument'] {
  const [api, stage] = methodArn.split('/');
  return {
    Version: '2012-10-17',
    Statement: [{ Action: 'execute-api:Invoke', Effect: effect, Resource: `${api}/${stage}/*/*` }],
  };
}
