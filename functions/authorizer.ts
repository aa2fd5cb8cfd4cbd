import middy from '@middy/core';
import type { APIGatewayAuthorizerResult, APIGatewayTokenAuthorizerEvent } from 'aws-lambda';
import * as z from 'zod/mini';
import { toCallerContext } from './access/caller.ts';
import { decideKey, findKey } from './access/key-records.ts';
import { hashOfKey, keyOfHeader, stageOfKey } from './access/keys.ts';
import { timeToAnswer, withDeadline } from './runtime/deadline.ts';
import { atCorrectTime } from './dynamodb/clock.ts';
import { connect } from './dynamodb/connection.ts';
import { variable, wholeNumber } from './runtime/environment.ts';

const ownStage = variable('STAGE');
const cacheSeconds = wholeNumber('AUTHORIZER_CACHE_SECONDS');
const { client, clock } = connect();
const table = { client, tableName: variable('API_KEYS_TABLE') };

const tokenEvent = z.object({ authorizationToken: z.string(), methodArn: z.string() });

/**
 * Returns the caller and the limits of their plan (docs/interface.md#5-authentication), or a denial, which API Gateway
 * answers with 401. It answers an error with 503.
 */
export const handler = middy<APIGatewayTokenAuthorizerEvent, APIGatewayAuthorizerResult>({
  timeoutEarlyInMillis: 0,
}).handler(async (event, lambda) => {
  const { authorizationToken, methodArn } = z.parse(tokenEvent, event);
  const key = keyOfHeader(authorizationToken);
  const stage = key === undefined ? undefined : stageOfKey(key);
  if (key === undefined || stage === undefined) return deny(methodArn, 'malformed');
  if (stage !== ownStage) return deny(methodArn, 'other_stage');

  const keyHash = hashOfKey(key);
  const time = lambda.getRemainingTimeInMillis() - timeToAnswer;
  const record = await withDeadline('The lookup of the API key', time, (signal) =>
    atCorrectTime(clock, () => findKey(table, keyHash, signal)),
  );
  // After the answer, which has corrected the clock.
  const now = clock.seconds();
  const decision = decideKey(record, now);
  if (decision.kind === 'denied') return deny(methodArn, decision.reason, record?.keyId);
  const { caller, gatewayValue } = decision;
  log({ outcome: 'granted', keyId: caller.keyId, plan: caller.plan });
  return {
    principalId: caller.keyId,
    policyDocument: policy('Allow', methodArn),
    usageIdentifierKey: gatewayValue,
    context: toCallerContext(caller, now, cacheSeconds),
  };
});

/** API Gateway caches a denial like an approval, so repeated attempts with one key run no code. */
function deny(methodArn: string, reason: string, keyId?: string) {
  log({ outcome: 'denied', reason, keyId });
  return { principalId: keyId ?? 'unknown', policyDocument: policy('Deny', methodArn) };
}

function log(fields: Readonly<Record<string, string | undefined>>): void {
  console.info({ operation: 'authorize', ...fields });
}

/** For the whole stage, because API Gateway caches the policy and uses it for every route. */
function policy(effect: 'Allow' | 'Deny', methodArn: string): APIGatewayAuthorizerResult['policyDocument'] {
  const [api, stage] = methodArn.split('/');
  return {
    Version: '2012-10-17',
    Statement: [{ Action: 'execute-api:Invoke', Effect: effect, Resource: `${api}/${stage}/*/*` }],
  };
}
