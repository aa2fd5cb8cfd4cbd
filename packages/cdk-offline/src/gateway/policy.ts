import { z } from 'zod';
import { unsupported } from '../template/schema.ts';

/**
 * The IAM policies that authorizers return, without conditions.
 *
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-authorization-flow.html
 */

const list = (value: unknown): unknown => (Array.isArray(value) || value === undefined ? value : [value]);
const oneOrMore = z.preprocess(list, z.array(z.string()));
const statement = z
  .object({
    Effect: z.enum(['Allow', 'Deny']),
    Action: oneOrMore.optional(),
    NotAction: oneOrMore.optional(),
    Resource: oneOrMore.optional(),
    NotResource: oneOrMore.optional(),
    Condition: unsupported('conditions are'),
  })
  .refine(
    ({ Action, NotAction }) => (Action === undefined) !== (NotAction === undefined),
    'either Action or NotAction',
  )
  .refine(
    ({ Resource, NotResource }) => (Resource === undefined) !== (NotResource === undefined),
    'either Resource or NotResource',
  );

export const policyDocument = z.object({
  Version: z.string().optional(),
  Statement: z.preprocess(list, z.array(statement)),
});
export type PolicyDocument = z.infer<typeof policyDocument>;

export type Decision = 'allowed' | 'denied' | 'notAllowed';

const action = 'execute-api:Invoke';

/** Deny overrides Allow; without either the result is `notAllowed`. */
export function evaluate({ Statement }: PolicyDocument, methodArn: string): Decision {
  const effects = new Set(
    Statement.filter(({ Action, NotAction, Resource, NotResource }) => {
      const actsOn = Action?.some((one) => matches(one.toLowerCase(), action.toLowerCase()));
      const isExcepted = NotAction?.some((one) => matches(one.toLowerCase(), action.toLowerCase()));
      const isThis = Resource?.some((one) => matches(one, methodArn));
      const isOther = NotResource?.some((one) => matches(one, methodArn));
      return (actsOn ?? isExcepted === false) && (isThis ?? isOther === false);
    }).map(({ Effect }) => Effect),
  );
  if (effects.has('Deny')) return 'denied';
  return effects.has('Allow') ? 'allowed' : 'notAllowed';
}

/** `*` matches any text, slashes included, and `?` one character. */
export function matches(pattern: string, text: string): boolean {
  const expression = pattern
    .replaceAll(/\*+/g, '*')
    .split(/([*?])/)
    .map((part) => (part === '*' ? '.*' : part === '?' ? '.' : part.replaceAll(/[.+^${}()|[\]\\]/g, '\\$&')))
    .join('');
  return new RegExp(`^${expression}$`, 's').test(text);
}
