import { styleText } from 'node:util';
import type { RequestRecord } from 'cdk-offline';
import { z } from 'zod';

type Request = Pick<
  RequestRecord,
  'time' | 'method' | 'path' | 'query' | 'status' | 'durationMs' | 'authorizer'
>;

const caller = z.object({ plan: z.string().optional(), principalId: z.string().optional() });

/** `22:21:03 GET  /v1/pets?limit=2 200 12 ms pro key_…`, without plan and key ID when the request has no valid key. */
export function requestLine(request: Request, inColour: boolean): string {
  const { time, method, path, query, status, durationMs, authorizer } = request;
  const { plan, principalId: keyId = '' } = caller.safeParse(authorizer ?? {}).data ?? {};
  return [
    clock(time),
    method.padEnd(4),
    printable(query === '' ? path : `${path}?${query}`),
    inColour ? styleText(colourOf(status), String(status), { validateStream: false }) : String(status),
    `${Math.round(durationMs)} ms`,
    ...(plan === undefined ? [] : [plan, keyId]),
  ].join(' ');
}

function colourOf(status: number): 'green' | 'cyan' | 'yellow' | 'red' {
  if (status >= 500) return 'red';
  if (status >= 400) return 'yellow';
  return status >= 300 ? 'cyan' : 'green';
}

function clock(time: number): string {
  return new Date(time).toTimeString().slice(0, 8);
}

/** Control characters must not reach the terminal. */
function printable(text: string): string {
  return text.replaceAll(/[^\u0020-\u007e\u00a0-\uffff]/g, (character) => encodeURIComponent(character));
}

const stack = z.union([z.string(), z.array(z.string()).transform((lines) => lines.join('\n'))]);
const loggedError = z.object({
  name: z.string().optional(),
  errorType: z.string().optional(),
  message: z.string().optional(),
  errorMessage: z.string().optional(),
  stack: stack.optional(),
  stackTrace: stack.optional(),
  get cause() {
    return loggedError.optional();
  },
});
type LoggedError = z.infer<typeof loggedError>;

const entry = z.object({
  level: z.string().optional(),
  message: z.unknown(),
  operation: z.string().optional(),
  errors: z.array(loggedError).optional(),
});

/**
 * The text to print for a log line of a function; `undefined` for the record of a request without errors, which
 * the request's line covers.
 *
 * @param functionName printed before the line
 * @param errorsOnly omits levels below ERROR
 */
export function functionLine(functionName: string, line: string, errorsOnly = false): string | undefined {
  const parsed = parseEntry(line);
  if (parsed === undefined) return errorsOnly || line.trim() === '' ? undefined : `${functionName}: ${line}`;
  const { level = 'INFO', message, operation, errors = [] } = parsed;
  if (errorsOnly && level !== 'ERROR' && level !== 'FATAL') return undefined;
  const isRecord = operation !== undefined || (isObject(message) && 'operation' in message);
  if (isRecord && errors.length === 0 && (level === 'INFO' || level === 'DEBUG')) return undefined;
  const own = loggedError.safeParse(parsed).data;
  const all = [...errors, ...(own?.stackTrace === undefined ? [] : [own])];
  const text = typeof message === 'string' ? message : JSON.stringify(message);
  return [`${functionName}: ${level} ${text}`, ...all.map((error) => indent(describeError(error)))].join(
    '\n',
  );
}

function parseEntry(line: string): (z.infer<typeof entry> & Record<string, unknown>) | undefined {
  try {
    return z.looseObject(entry.shape).safeParse(JSON.parse(line)).data;
  } catch {
    return undefined;
  }
}

function describeError(error: LoggedError): string {
  const head = `${error.name ?? error.errorType ?? 'Error'}: ${error.message ?? error.errorMessage ?? ''}`;
  const trace = error.stack ?? error.stackTrace ?? head;
  return error.cause === undefined ? trace : `${trace}\nCaused by ${describeError(error.cause)}`;
}

function indent(text: string): string {
  return text.replaceAll(/^/gm, '  ');
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
