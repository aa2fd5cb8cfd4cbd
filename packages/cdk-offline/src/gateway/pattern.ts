import { TemplateError } from '../template/intrinsics.ts';

/**
 * A regular expression of the template, which API Gateway matches with the whole text.
 *
 * @param what begins the message of an error
 * @throws TemplateError when it is malformed
 */
export function wholeText(expression: string, what: string): RegExp {
  try {
    return new RegExp(`^(?:${expression})$`);
  } catch (error) {
    throw new TemplateError(`${what}: ${String(error)}`, { cause: error });
  }
}
