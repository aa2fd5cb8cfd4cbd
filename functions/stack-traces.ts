import { readFileSync } from 'node:fs';
import type { SourceMap } from 'node:module';

/**
 * Makes stack traces name TypeScript files and lines. lib/compute/bundle.ts puts this in front of every bundle. A source map
 * is read when a stack trace is first formatted, so a function that does not fail does not pay for it: with
 * `--enable-source-maps` Node.js reads it at every start.
 */

/** By the URL of the file that they belong to; undefined for a file without one. */
const sourceMaps = new Map<string, SourceMap | undefined>();

function readSourceMap(file: string): SourceMap | undefined {
  try {
    const url = new URL(file);
    url.pathname += '.map';
    // Imported by name, the class would be fetched at start.
    const { SourceMap } = process.getBuiltinModule('node:module');
    return new SourceMap(JSON.parse(readFileSync(url, 'utf8')));
  } catch {
    return undefined;
  }
}

/** The line of a stack trace, with the original position where it is known. https://v8.dev/docs/stack-trace-api */
function describe(frame: NodeJS.CallSite): string {
  // oxlint-disable-next-line typescript/no-base-to-string -- V8 formats it, which its type does not say
  const text = String(frame);
  const [file, line, column] = [frame.getFileName(), frame.getLineNumber(), frame.getColumnNumber()];
  if (!file?.startsWith('file:') || line === null || column === null) return text;
  if (!sourceMaps.has(file)) sourceMaps.set(file, readSourceMap(file));
  // These positions count from 0, those of frames from 1.
  const entry = sourceMaps.get(file)?.findEntry(line - 1, column - 1);
  if (entry === undefined || !('originalSource' in entry)) return text;
  const { originalSource, originalLine, originalColumn } = entry;
  const original = `${originalSource}:${originalLine + 1}:${originalColumn + 1}`;
  return text.replace(`${file}:${line}:${column}`, () => original);
}

Error.prepareStackTrace = (error, frames) =>
  [String(error), ...frames.map((frame) => `    at ${describe(frame)}`)].join('\n');
