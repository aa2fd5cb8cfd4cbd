import { expect, test } from 'vitest';
import { ApiKeyStore, usagePlansOf } from '../../tools/contributors/local/api-keys.ts';
import { Gateway } from '../../tools/contributors/local/gateway.ts';
import { values } from '../../tools/contributors/local/gateway-request.ts';
import { type Answer, type Fact, throws } from './recorded-on-aws/fact.ts';
import { factsOfFunctions } from './recorded-on-aws/functions.ts';
import { factsOfGateway } from './recorded-on-aws/gateway.ts';
import { stackOf } from './recorded-on-aws/stack.ts';

/*
 * What others have recorded of REST APIs on AWS, as far as a client of the service can meet it, or the key tool. The local service
 * has to do the same. What it is known to do otherwise stands beside it as `ours`, so that a change of it fails here.
 */

/** Answers like the authorizer of ministack's tests. */
function authorize(event: string, usageIdentifierKey: string | undefined) {
  const { authorizationToken: given } = JSON.parse(event) as { authorizationToken: string };
  if (given === 'unauth') return { ok: false, errorType: 'Error', errorMessage: 'Unauthorized' } as const;
  if (given === 'crash') return { ok: false, errorType: 'Error', errorMessage: 'boom' } as const;
  const policyDocument = {
    Version: '2012-10-17',
    Statement: [{ Effect: given === 'deny' ? 'Deny' : 'Allow', Action: 'execute-api:Invoke', Resource: '*' }],
  };
  const principal = given === 'noprincipal' ? {} : { principalId: 'u1' };
  return { ok: true, payload: JSON.stringify({ ...principal, policyDocument, usageIdentifierKey }) } as const;
}

async function answerOf(fact: Fact): Promise<Answer> {
  const stack = stackOf(fact);
  const keys = new ApiKeyStore();
  keys.plans = usagePlansOf(stack);
  const { key = 'valid', recorded } = fact;
  const created = keys.create({ value: 'a'.repeat(40), enabled: key !== 'disabled' }, Date.now());
  if (key !== 'in no plan') keys.bind(stack.only('AWS::ApiGateway::UsagePlan').id, created.id);
  const sent = key === 'missing' ? undefined : key === 'unknown' ? 'b'.repeat(40) : created.value;
  const gateway = new Gateway({
    stack,
    keys,
    invoke: async (name, { event }) => {
      if (name === 'authorizer') return authorize(event, sent);
      const { answers = { statusCode: 200, body: event } } = fact;
      return answers === throws
        ? { ok: false, errorType: 'Error', errorMessage: 'boom' }
        : { ok: true, payload: JSON.stringify(answers) };
    },
  });
  const {
    method = 'GET',
    url = '/v1/test',
    headers = { Authorization: 'allow' },
    body = '',
  } = fact.send ?? {};
  const incoming = {
    method,
    url,
    rawHeaders: Object.entries({ Host: 'localhost', ...headers }).flat(),
    body: Buffer.from(body),
    time: Date.now(),
  };
  const send = () => gateway.handle(incoming);
  // The second request is the one that a plan refuses.
  if (fact.plan) await send();
  const response = await send();
  const text = response.body.toString();
  const event = () => JSON.parse(text) as Record<string, Record<string, unknown>>;
  const membersOf = (like: object, from: Readonly<Record<string, unknown>>) =>
    Object.fromEntries(Object.keys(like).map((name) => [name, from[name] ?? null]));
  const valueOf = (name: string) => {
    const all = values(response.headers, name);
    return all.length === 0 ? null : all.join(', ');
  };
  return {
    ...('status' in recorded && { status: response.status }),
    ...('body' in recorded && {
      body: typeof recorded.body === 'string' ? text : (JSON.parse(text) as unknown),
    }),
    ...(recorded.headers && {
      headers: Object.fromEntries(Object.keys(recorded.headers).map((name) => [name, valueOf(name)])),
    }),
    ...(recorded.same && {
      same: Object.fromEntries(
        Object.entries(recorded.same).map(([name, other]) => [
          name,
          valueOf(name) === valueOf(other) ? other : `${valueOf(name)}`,
        ]),
      ),
    }),
    ...(recorded.event && { event: membersOf(recorded.event, event()) }),
    ...(recorded.context && { context: membersOf(recorded.context, event()['requestContext']!) }),
    ...(recorded.received && {
      received: membersOf(recorded.received, event()['headers']!) as Record<string, string | null>,
    }),
  };
}

/** The answer, with patterns of headers as matchers. */
function expected(answer: Answer): object {
  const { headers, ...rest } = answer;
  if (!headers) return rest;
  const matched = Object.entries(headers).map(([name, value]) => [
    name,
    value instanceof RegExp ? (expect.stringMatching(value) as unknown) : value,
  ]);
  return { ...rest, headers: Object.fromEntries(matched) as object };
}

test.each([...factsOfFunctions, ...factsOfGateway])('$source, $in: $words', async (fact) => {
  const { ours = fact.recorded } = fact;
  if (typeof ours === 'string') await expect(answerOf(fact)).rejects.toThrow(ours);
  else expect(await answerOf(fact)).toEqual(expected(ours));
});
