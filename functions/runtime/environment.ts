type Variables = Readonly<Record<string, string | undefined>>;

/** An environment variable. @throws Error if it is missing or empty */
export function variable(name: string, variables: Variables = process.env): string {
  const value = variables[name];
  if (value === undefined || value === '') throw new Error(`The environment variable ${name} is missing`);
  return value;
}

/** An environment variable that is a whole number. @throws Error if it is missing or anything else */
export function wholeNumber(name: string, variables?: Variables): number {
  const value = variable(name, variables);
  if (!/^\d+$/.test(value))
    throw new Error(`The environment variable ${name} must be a whole number (got "${value}")`);
  return Number(value);
}

/**
 * The ID of the invocation's X-Ray trace, as API Gateway's access log has it. `undefined` for anything else, because a client can
 * send a header of its own. https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html
 */
export function traceId(variables: Variables = process.env): string | undefined {
  return /^Root=(1-[0-9a-f]{8}-[0-9a-f]{24})(?:;|$)/.exec(variables['_X_AMZN_TRACE_ID'] ?? '')?.[1];
}
