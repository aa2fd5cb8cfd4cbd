import { pathToFileURL } from 'node:url';
import { withoutControls } from '../system/lines.ts';
import type { FunctionDefinition } from './function-definition.ts';
import type { Failure } from './protocol.ts';
import { readableTrace } from './trace.ts';

/** The code of a function cannot be loaded. The message has the error with file and line. */
export class FunctionLoadError extends Error {
  override readonly name = 'FunctionLoadError';
}

export function loadError(definition: FunctionDefinition, failure: Failure): FunctionLoadError {
  const text = withSource(describeLoadFailure(failure), definition);
  return new FunctionLoadError(withoutControls(`${definition.label} cannot be loaded: ${text}`));
}

/** Text with the paths of a function's source in place of those of the copy that runs. */
export function withSource(text: string, { taskRoot, source }: FunctionDefinition): string {
  return text
    .replaceAll(pathToFileURL(taskRoot).href, pathToFileURL(source).href)
    .replaceAll(taskRoot, source);
}

export function describeLoadFailure({ errorType, errorMessage, trace }: Failure): string {
  // The trace of a syntax error begins with the file and line.
  const head = `${errorType}: ${errorMessage}`;
  return readableTrace([head, ...trace.filter((line) => line !== head)].join('\n'));
}
