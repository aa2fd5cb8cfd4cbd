export const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
export type Method = (typeof methods)[number];

/** Milliseconds: timers fire at once when they are set to more. */
const longestTimer = 2 ** 31 - 1;

export function checkRequired(value: unknown, name: string): void {
  if (value === undefined) throw new TypeError(`${name} is required.`);
}

export function checkObject(value: unknown, name: string): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    const got = value === null ? 'null' : Array.isArray(value) ? 'an array' : `a ${typeof value}`;
    throw new TypeError(`${name} must be an object (got ${got}).`);
  }
}

/** @param taker what does not have these options */
export function rejectUnknown(options: object, taker: string): void {
  const [name] = Object.keys(options);
  if (name !== undefined) throw new TypeError(`${taker} has no option "${name}".`);
}

export function checkWholeNumber(value: number, name: string, min: number, max: number): void {
  if (!Number.isInteger(value) || value < min || value > max) {
    throw new TypeError(`${name} must be a whole number from ${min} to ${max} (got ${shown(value)}).`);
  }
}

export function checkMilliseconds(value: number, name: string, min: number): void {
  if (typeof value !== 'number' || !(value >= min && value <= longestTimer)) {
    throw new TypeError(`${name} must be milliseconds from ${min} to ${longestTimer} (got ${shown(value)}).`);
  }
}

/** A string in quotes, to tell it from a number. */
function shown(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}

export function checkFunction(value: unknown, name: string): void {
  if (value !== undefined && typeof value !== 'function') throw new TypeError(`${name} must be a function.`);
}

/** Headers that an option has a name for. */
const reserved = { Authorization: 'apiKey', 'Idempotency-Key': 'idempotencyKey' };

/** The messages do not repeat a value, because it can be a secret. */
export function readHeaders(given: Readonly<Record<string, string>>, name: string): Headers {
  let headers: Headers;
  try {
    headers = new Headers(given);
  } catch {
    throw new TypeError(`${name} must have names and values that are valid in HTTP headers.`);
  }
  for (const [header, option] of Object.entries(reserved)) {
    if (headers.has(header))
      throw new TypeError(`${name} must not have ${header}: use the option ${option}.`);
  }
  return headers;
}
