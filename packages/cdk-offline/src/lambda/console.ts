import { format } from 'node:util';
import type { LogLevel } from './function-definition.ts';

/**
 * Makes each call of `console` write one line of text or JSON, as on Lambda.
 *
 * https://docs.aws.amazon.com/lambda/latest/dg/nodejs-logging.html
 */
export function patchConsole(
  logFormat: () => 'JSON' | 'Text',
  lowestLevel: () => string | undefined,
  currentRequestId: () => string | undefined,
  write: (line: string) => void,
): void {
  const method =
    (level: LogLevel) =>
    (message?: unknown, ...parameters: unknown[]): void => {
      if (levels.indexOf(level) < levels.indexOf(lowestLevel() ?? 'TRACE')) return;
      const timestamp = new Date().toISOString();
      const requestId = currentRequestId();
      const line =
        logFormat() === 'JSON'
          ? jsonLine(timestamp, level, requestId, message, parameters)
          : [timestamp, requestId, level, format(message, ...parameters)].join('\t');
      write(`${line.replaceAll('\n', '\r')}\n`);
    };
  console.trace = method('TRACE');
  console.debug = method('DEBUG');
  console.info = method('INFO');
  console.log = console.info;
  console.warn = method('WARN');
  console.error = method('ERROR');
}

const levels: readonly string[] = ['TRACE', 'DEBUG', 'INFO', 'WARN', 'ERROR', 'FATAL'] satisfies LogLevel[];

function jsonLine(
  timestamp: string,
  level: LogLevel,
  requestId: string | undefined,
  message: unknown,
  parameters: readonly unknown[],
): string {
  const head = { timestamp, level, requestId };
  if (parameters.length === 0) {
    try {
      return JSON.stringify({ ...head, message }, (_, value: unknown) =>
        value instanceof Error
          ? { ...errorFields(value), ...Object.fromEntries(Object.entries(value)) }
          : value,
      );
    } catch {
      return JSON.stringify({ ...head, message: format(message) });
    }
  }
  const error = parameters.find((parameter) => parameter instanceof Error);
  return JSON.stringify({
    ...head,
    message: format(message, ...parameters),
    ...(error && errorFields(error)),
  });
}

function errorFields({ constructor, message: errorMessage, stack = '' }: Error): Record<string, unknown> {
  return { errorType: constructor.name, errorMessage, stackTrace: stack.split('\n') };
}
