import * as z from 'zod/mini';

/** An environment variable that is not empty. */
export const nonEmptyText = z.string().check(z.minLength(1));

export const wholeNumber = z.pipe(
  z.string().check(z.regex(/^\d+$/, 'must be a whole number')),
  z.transform(Number),
);

/**
 * The ID of the invocation's X-Ray trace, as API Gateway's access log has it. `undefined` for anything else, because a client can
 * send a header of its own. https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html
 */
export function traceId(variables: NodeJS.ProcessEnv = process.env): string | undefined {
  return /^Root=(1-[0-9a-f]{8}-[0-9a-f]{24})(?:;|$)/.exec(variables['_X_AMZN_TRACE_ID'] ?? '')?.[1];
}

/** The version of the function. https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html */
export function version(variables: NodeJS.ProcessEnv = process.env): string | undefined {
  return variables['AWS_LAMBDA_FUNCTION_VERSION'];
}
