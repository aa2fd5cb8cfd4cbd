import { z } from 'zod';

/** Text, or a number or flag that CloudFormation turns into text. */
export const scalar = z.union([z.string(), z.number(), z.boolean()]).transform(String);

export const flag = z.union([z.boolean(), z.stringbool()]);

/** A property that must be absent. @param what begins the message, such as `layers are` */
export function unsupported(what: string) {
  return z.undefined({ error: `${what} not supported by cdk-offline` }).optional();
}
