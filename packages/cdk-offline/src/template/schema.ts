import { z } from 'zod';

/** Text, or a number or flag that CloudFormation turns into text. */
export const scalar = z
  .union([z.string(), z.number(), z.boolean()], 'must be text, a number or a flag')
  .transform(String);

export const flag = z.union([z.boolean(), z.stringbool()]);

/** The first problem, and the member that has it. */
export function problemOf({ issues: [issue] }: z.ZodError): string {
  if (issue === undefined) return '';
  return [issue.path.join('.'), issue.message].filter((part) => part !== '').join(': ');
}

/** A property that must be absent. @param what begins the message, such as `layers are` */
export function unsupported(what: string) {
  return z.undefined({ error: `${what} not supported by cdk-offline` }).optional();
}
