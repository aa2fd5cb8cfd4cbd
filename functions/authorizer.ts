import middy from '@middy/core';
import type { APIGatewayAuthorizerResult, APIGatewayTokenAuthorizerEvent } from 'aws-lambda';
import * as z from 'zod/mini';
import { toCallerContext } from './access/caller.ts';
import { decideKey, type Denial, findKey } from './access/key-records.ts';
import { hashOfKey, keyOfHeader, stageOfKey } from './access/keys.ts';
import { dynamoDb } from './dynamodb.ts';

const env = z.parse(
  z.object({
    STAGE: z.string(),
    API_KEYS_TABLE: z.string(),
    AUTHORIZER_CACHE_SECONDS: z.pipe(
      z.string().check(z.regex(/^\d+$/)),
      z.transform((digits) => Number(digits)),
    ),
  }),
  process.env,
);
const table = { client: dynamoDb(), tableName: env.API_KEYS_TABLE };

const tokenEvent = z.object({ authorizationToken: z.string(), methodArn: z.string() });

/**
 * Who calls, and what their plan allows (interface, section 5). A key that is mistyped, of another stage,
 * unknown, revoked or expired is denied, which the API's gateway responses turn into 401.
 *
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-use-lambda-authorizer.html
 */
export const handler = middy<APIGatewayTokenAuthorizerEvent, APIGatewayAuthorizerResult>().handler(
  async (event) => {
    const { authorizationToken, methodArn } = z.parse(tokenEvent, event);
    const now = Math.floor(Date.now() / 1000);
    const key = keyOfHeader(authorizationToken);
    const stage = key === undefined ? undefined : stageOfKey(key);
    if (key === undefined || stage === undefined) return deny(methodArn, 'mistyped');
    if (stage !== env.STAGE) return deny(methodArn, 'other_stage');

    const keyHash = hashOfKey(key);
    const record = await findKey(table, keyHash);
    const decision = decideKey(record, now);
    if (decision.kind === 'denied') return deny(methodArn, decision.reason, record?.keyId);
    const { grant } = decision;
    log({ outcome: 'granted', keyId: grant.keyId, plan: grant.plan });
    return {
      principalId: grant.keyId,
      policyDocument: policy('Allow', methodArn),
      usageIdentifierKey: keyHash,
      context: toCallerContext(grant, now, env.AUTHORIZER_CACHE_SECONDS),
    };
  },
);

/** A denial is cached like a grant, so guessing one key again and again runs no code. */
function deny(methodArn: string, reason: Denial | 'mistyped' | 'other_stage', keyId?: string) {
  log({ outcome: 'denied', reason, keyId });
  return { principalId: keyId ?? 'unknown', policyDocument: policy('Deny', methodArn) };
}

function log(fields: Readonly<Record<string, string | undefined>>): void {
  console.info({ operation: 'authorize', ...fields });
}

/** For the whole stage: the answer is cached and used for every route, so it must not name the route at hand alone. */
function policy(effect: 'Allow' | 'Deny', methodArn: string): APIGatewayAuthorizerResult['policyDocument'] {
  const [api, stage] = methodArn.split('/');
  return {
    Version: '2012-10-17',
    Statement: [{ Action: 'execute-api:Invoke', Effect: effect, Resource: `${api}/${stage}/*/*` }],
  };
}
