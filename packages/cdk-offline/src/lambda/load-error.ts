import { withoutControls } from '../lines.ts';

interface LoadFailure {
  readonly errorType: string;
  readonly errorMessage: string;
  readonly trace: readonly string[];
}

/** The code of a function cannot be loaded. The message has the error with file and line. */
export class FunctionLoadError extends Error {
  override readonly name = 'FunctionLoadError';
}

export function loadError(logicalId: string, failure: LoadFailure): FunctionLoadError {
  return new FunctionLoadError(
    withoutControls(`${logicalId} cannot be loaded: ${describeLoadFailure(failure)}`),
  );
}

export function describeLoadFailure({ errorType, errorMessage, trace }: LoadFailure): string {
  // The trace of a syntax error begins with the file and line.
  const head = `${errorType}: ${errorMessage}`;
  return [head, ...trace.filter((line) => line !== head)].join('\n');
}
