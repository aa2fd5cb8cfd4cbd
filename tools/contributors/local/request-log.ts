import { styleText } from 'node:util';
import { z } from 'zod';
import { printable } from '../../operators/command-line/output.ts';
import type { RequestRecord } from './gateway.ts';
import { readableTrace, withoutControls } from './readable.ts';

export interface LogOptions {
  /** Only what functions log at level ERROR and above. */
  readonly quiet?: boolean;
  /** Each request and each line of a function as it is, for programs. */
  readonly json?: boolean;
}

/** What `serve` reports of requests and functions: readable lines on standard error, in colour on a terminal. */
export function requestLog({ quiet = false, json = false }: LogOptions = {}) {
  const colour = process.stderr.hasColors?.() ?? false;
  return {
    onRequest: (record: RequestRecord): void => {
      const shown = withoutKeyHash(record);
      if (json) console.error(JSON.stringify({ ...shown, time: new Date(record.time).toISOString() }));
      else if (!quiet) console.error(requestLine(shown, colour));
    },
    onLog: (functionName: string, line: string): void => {
      const text = json ? withoutControls(line) : functionLine(functionName, line, quiet);
      if (text !== undefined) console.error(text);
    },
  };
}

/** Functions see UTC, and so does this process from then on. */
const { timeZone } = Intl.DateTimeFormat().resolvedOptions();

/** `22:21:03` of this machine. */
export function clock(time = Date.now()): string {
  return new Date(time).toLocaleTimeString('en-GB', { timeZone });
}

/** No log may contain the hash of a key (docs/security.md#api-keys). */
function withoutKeyHash({ authorizer, ...record }: RequestRecord): RequestRecord {
  if (authorizer === undefined) return record;
  const { keyHash: _, ...shown } = authorizer;
  return { ...record, authorizer: shown };
}

/** `22:21:03 GET  /v1/pets?limit=2 200 12 ms PLAN KEY (ERROR)`, without a caller or an error when there is none. */
export function requestLine(record: Omit<RequestRecord, 'requestId'>, colour: boolean): string {
  const { time, method, path, query, status, durationMs, authorizer, functionError } = record;
  const caller = [authorizer?.['plan'], authorizer?.['principalId']].filter(Boolean).join(' ');
  return [
    clock(time),
    printable(method).padEnd(4),
    printable(query === '' ? path : `${path}?${query}`),
    colour ? styleText(colourOf(status), String(status), { validateStream: false }) : String(status),
    `${Math.round(durationMs)} ms`,
    ...(caller === '' ? [] : [printable(caller)]),
    ...(functionError === undefined ? [] : [`(${printable(functionError.split('\n', 1).join())})`]),
  ].join(' ');
}

function colourOf(status: number): 'green' | 'cyan' | 'yellow' | 'red' {
  if (status >= 500) return 'red';
  if (status >= 400) return 'yellow';
  return status >= 300 ? 'cyan' : 'green';
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

const logEntry = z.looseObject({
  level: z.string().default('INFO'),
  message: z.unknown(),
  errors: z.array(loggedError).default([]),
});

/**
 * The text to print for a log line of a function.
 *
 * @param functionName printed before the line
 * @param errorsOnly omits levels below ERROR
 * @returns `undefined` when the line is omitted
 */
export function functionLine(functionName: string, line: string, errorsOnly = false): string | undefined {
  const text = readableLine(line, errorsOnly);
  return text === undefined ? undefined : `${functionName}: ${readableTrace(withoutControls(text))}`;
}

function readableLine(line: string, errorsOnly: boolean): string | undefined {
  const entry = parse(line, logEntry);
  // The line of a request has the time of this machine, and those of a function follow it.
  if (entry === undefined)
    return errorsOnly || line.trim() === '' ? undefined : line.replace(/^\d{4}-\d\d-\d\dT[\d:.]+Z\s/, '');
  const { level, message, errors } = entry;
  if (errorsOnly && level !== 'ERROR' && level !== 'FATAL') return undefined;
  const isUneventful = errors.length === 0 && ['TRACE', 'DEBUG', 'INFO'].includes(level);
  if (isUneventful && isOfRequest(entry)) return undefined;
  const own = loggedError.safeParse(entry).data;
  const all = [...errors, ...(own?.stackTrace === undefined ? [] : [own])];
  // What the runtime logs for a handler that throws.
  const [, thrown = ''] = /^Invoke Error\s+(\{.*\})\s*$/s.exec(String(message)) ?? [];
  const failure = parse(thrown, loggedError);
  if (failure !== undefined) return `${level} ${describeError(failure)}`;
  const text = typeof message === 'string' ? message : JSON.stringify(message);
  const indented = all.map((error) => describeError(error).replaceAll(/^/gm, '  '));
  return [`${level} ${text}`, ...indented].join('\n');
}

/** The record of a request or of an authorization, which only repeats the request's line. */
function isOfRequest({ operation, message }: Readonly<Record<string, unknown>>): boolean {
  return (
    operation !== undefined || (typeof message === 'object' && message !== null && 'operation' in message)
  );
}

function parse<T>(json: string, schema: z.ZodType<T>): T | undefined {
  try {
    return schema.safeParse(JSON.parse(json)).data;
  } catch {
    return undefined;
  }
}

function describeError(error: LoggedError): string {
  const head = `${error.name ?? error.errorType ?? 'Error'}: ${error.message ?? error.errorMessage ?? ''}`;
  // An error without frames has an empty stack.
  const trace = (error.stack ?? error.stackTrace) || head;
  return error.cause === undefined ? trace : `${trace}\nCaused by ${describeError(error.cause)}`;
}
