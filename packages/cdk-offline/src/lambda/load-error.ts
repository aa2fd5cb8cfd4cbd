import { withoutControls } from '../lines.ts';
import type { Failure } from './protocol.ts';

/** The code of a function cannot be loaded. The message has the error with file and line. */
export class FunctionLoadError extends Error {
  override readonly name = 'FunctionLoadError';
}

export function loadError(logicalId: string, failure: Failure): FunctionLoadError {
  return new FunctionLoadError(
    withoutControls(`${logicalId} cannot be loaded: ${describeLoadFailure(failure)}`),
  );
}

export function describeLoadFailure({ errorType, errorMessage, trace }: Failure): string {
  // The trace of a syntax error begins with the file and line.
  const head = `${errorType}: ${errorMessage}`;
  return [head, ...trace.filter((line) => line !== head)].join('\n');
}
