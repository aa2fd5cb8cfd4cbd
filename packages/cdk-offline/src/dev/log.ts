// An older Node.js has no such name to import, and could not say that it is too old.
import * as util from 'node:util';
import { z } from 'zod';
import { readableTrace } from '../lambda/trace.ts';
import { withoutControls } from '../system/lines.ts';
import type { RequestRecord } from '../http/request-record.ts';

type Authorizer = NonNullable<RequestRecord['authorizer']>;
type Entry = Readonly<Record<string, unknown>>;

export interface TerminalLogOptions {
  /** Only what functions log at level ERROR and above. */
  readonly quiet?: boolean;
  /** Each request and each line of a function as it is, for programs. */
  readonly json?: boolean;
  /** The caller's name at the end of a request's line. Default: the authorizer's `principalId`. */
  readonly caller?: (authorizer: Authorizer) => string;
  /** Whether a function's JSON log entry, up to level INFO and without errors, only repeats the request's line. */
  readonly isRepetition?: (entry: Entry) => boolean;
}

/** `onRequest` and `onLog` for `serve`: readable lines on standard error, in colour on a terminal. */
export function terminalLog(options: TerminalLogOptions = {}) {
  const { quiet = false, json = false, caller, isRepetition } = options;
  const colour = process.stderr.hasColors?.() ?? false;
  return {
    onRequest: (record: RequestRecord): void => {
      if (json) console.error(JSON.stringify({ ...record, time: new Date(record.time).toISOString() }));
      else if (!quiet) console.error(requestLine(record, colour, caller));
    },
    onLog: (functionName: string, line: string): void => {
      const text = json ? withoutControls(line) : functionLine(functionName, line, quiet, isRepetition);
      if (text !== undefined) console.error(text);
    },
  };
}

/** `22:21:03 GET  /v1/things?limit=2 200 12 ms CALLER (ERROR)`, without a caller or an error when there is none. */
export function requestLine(
  record: Omit<RequestRecord, 'requestId'>,
  colour: boolean,
  caller: (authorizer: Authorizer) => string = nameOf,
): string {
  const { time, method, path, query, status, durationMs, authorizer, functionError } = record;
  return [
    new Date(time).toTimeString().slice(0, 8),
    printable(method).padEnd(4),
    printable(query === '' ? path : `${path}?${query}`),
    colour ? util.styleText(colourOf(status), String(status), { validateStream: false }) : String(status),
    `${Math.round(durationMs)} ms`,
    ...(authorizer === undefined ? [] : [printable(caller(authorizer))]),
    ...(functionError === undefined ? [] : [`(${printable(functionError.split('\n', 1).join())})`]),
  ].join(' ');
}

/** The user of a Cognito token has no `principalId`. */
function nameOf({ principalId, claims }: Authorizer): string {
  return String(principalId ?? Object(claims)['sub']);
}

function colourOf(status: number): 'green' | 'cyan' | 'yellow' | 'red' {
  if (status >= 500) return 'red';
  if (status >= 400) return 'yellow';
  return status >= 300 ? 'cyan' : 'green';
}

/** Control characters of a URL, percent-encoded. */
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
export function functionLine(
  functionName: string,
  line: string,
  errorsOnly = false,
  isRepetition: (entry: Entry) => boolean = () => false,
): string | undefined {
  const text = readableLine(line, errorsOnly, isRepetition);
  return text === undefined ? undefined : `${functionName}: ${readableTrace(withoutControls(text))}`;
}

function readableLine(
  line: string,
  errorsOnly: boolean,
  isRepetition: (entry: Entry) => boolean,
): string | undefined {
  const entry = parseEntry(line) ?? parseText(line);
  if (entry === undefined) return errorsOnly || line.trim() === '' ? undefined : line.replace(time, '');
  const { level, message, errors } = entry;
  if (errorsOnly && level !== 'ERROR' && level !== 'FATAL') return undefined;
  const isUneventful = errors.length === 0 && ['TRACE', 'DEBUG', 'INFO'].includes(level);
  if (isUneventful && isRepetition(entry)) return undefined;
  const own = loggedError.safeParse(entry).data;
  const all = [...errors, ...(own?.stackTrace === undefined ? [] : [own])];
  const failure = typeof message === 'string' ? parseFailure(message) : undefined;
  if (failure !== undefined) return `${level} ${describeError(failure)}`;
  const text = typeof message === 'string' ? message : JSON.stringify(message);
  const indented = all.map((error) => describeError(error).replaceAll(/^/gm, '  '));
  return [`${level} ${text}`, ...indented].join('\n');
}

function parseEntry(line: string): z.infer<typeof logEntry> | undefined {
  try {
    return logEntry.safeParse(JSON.parse(line)).data;
  } catch {
    return undefined;
  }
}

/** What the runtime logs for a handler that throws. */
function parseFailure(message: string): LoggedError | undefined {
  const [, json] = /^Invoke Error\s+(\{.*\})\s*$/s.exec(message) ?? [];
  try {
    return json === undefined ? undefined : loggedError.safeParse(JSON.parse(json)).data;
  } catch {
    return undefined;
  }
}

/** The line of a request has the time of this machine, and those of a function follow it. */
const time = /^\d{4}-\d\d-\d\dT[\d:.]+Z\s/;

/** A line of `console` in the text format: time, request ID, level and message, separated by tabs. */
function parseText(line: string): z.infer<typeof logEntry> | undefined {
  const [, level, message] = /^[^\t]+Z\t[\w-]*\t([A-Z]+)\t(.*)$/s.exec(line) ?? [];
  return level === undefined ? undefined : { level, message, errors: [] };
}

function describeError(error: LoggedError): string {
  const head = `${error.name ?? error.errorType ?? 'Error'}: ${error.message ?? error.errorMessage ?? ''}`;
  // An error without frames has an empty stack.
  const trace = (error.stack ?? error.stackTrace) || head;
  return error.cause === undefined ? trace : `${trace}\nCaused by ${describeError(error.cause)}`;
}
