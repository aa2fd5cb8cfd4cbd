import { withoutControls } from '../lines.ts';

interface LoadFailure {
  readonly errorType: string;
  readonly errorMessage: string;
  readonly trace: readonly string[];
}

/** The code of a function cannot be loaded. The message has the error with file and line. */
export class FunctionLoadError extends Error {
  override readonly name = 'FunctionLoadError';
  constructor(logicalId: string, { errorType, errorMessage, trace }: LoadFailure) {
    // The trace of a syntax error begins with the file and line.
    const head = `${errorType}: ${errorMessage}`;
    const rest = trace.filter((line) => line !== head);
    super(withoutControls([`${logicalId} cannot be loaded: ${head}`, ...rest].join('\n')));
  }
}
