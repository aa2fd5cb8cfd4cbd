import { describe, expect, it } from 'vitest';
import { evaluate, matches, policyDocument } from '../../src/gateway/policy.ts';

const arn = 'arn:aws:execute-api:us-east-1:123456789012:api/v1/GET/things/7';
const invoke = 'execute-api:Invoke';

function decision(...statements: readonly object[]) {
  return evaluate(policyDocument.parse({ Version: '2012-10-17', Statement: statements }), arn);
}

describe('an authorizer’s policy', () => {
  it.each([
    [{ Effect: 'Allow', Action: invoke, Resource: arn }, 'allowed'],
    [
      { Effect: 'Allow', Action: [invoke], Resource: ['arn:other', 'arn:aws:execute-api:*:*:api/v1/*/*'] },
      'allowed',
    ],
    [{ Effect: 'Allow', Action: 'EXECUTE-API:*', Resource: '*' }, 'allowed'],
    [
      {
        Effect: 'Allow',
        Action: invoke,
        Resource: 'arn:aws:execute-api:us-east-1:123456789012:api/v1/GET/things/?',
      },
      'allowed',
    ],
    [
      {
        Effect: 'Allow',
        Action: invoke,
        Resource: 'arn:aws:execute-api:us-east-1:123456789012:api/v1/POST/*',
      },
      'notAllowed',
    ],
    [{ Effect: 'Allow', Action: 's3:*', Resource: '*' }, 'notAllowed'],
    [{ Effect: 'Deny', Action: invoke, Resource: '*' }, 'denied'],
    [{ Effect: 'Allow', NotAction: 's3:*', NotResource: 'arn:aws:s3:::*' }, 'allowed'],
    [{ Effect: 'Allow', NotAction: invoke, Resource: '*' }, 'notAllowed'],
    [{ Effect: 'Allow', Action: invoke, NotResource: '*/GET/*' }, 'notAllowed'],
  ])('%j: %s', (statement, expected) => {
    expect(decision(statement)).toBe(expected);
  });

  it('Deny overrides Allow, in either order', () => {
    const allow = { Effect: 'Allow', Action: '*', Resource: '*' };
    const deny = { Effect: 'Deny', Action: invoke, Resource: '*/things/*' };
    expect(decision(allow, deny)).toBe('denied');
    expect(decision(deny, allow)).toBe('denied');
  });

  it('a policy without statements allows nothing', () => {
    expect(decision()).toBe('notAllowed');
  });

  it.each([
    [{ Effect: 'Permit', Action: invoke, Resource: '*' }],
    [{ Effect: 'Allow', Resource: '*' }],
    [{ Effect: 'Allow', Action: invoke }],
    [{ Effect: 'Allow', Action: invoke, Resource: '*', Condition: { Bool: {} } }],
  ])('rejects %j instead of ignoring it', (statement) => {
    expect(policyDocument.safeParse({ Statement: [statement] }).success).toBe(false);
  });

  it('only * and ? are wildcards', () => {
    expect(matches('a.c+(d)', 'a.c+(d)')).toBe(true);
    expect(matches('a.c', 'abc')).toBe(false);
    expect(matches('a**c', 'a/b/c')).toBe(true);
    expect(matches('a?c', 'ac')).toBe(false);
  });
});
