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
