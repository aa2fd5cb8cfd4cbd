import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';

// Makes stack traces name TypeScript files and lines; lib/bundler/bundle.ts adds it to every bundle. It reads a source map
// when a stack trace is first formatted. With `--enable-source-maps`, Node.js would read it at every start.

/** The source map of each bundle by its URL, or undefined if it has none. */
const sourceMaps = new Map<string, SourceMap | undefined>();

function readSourceMap(file: string): SourceMap | undefined {
  try {
    return new SourceMap(JSON.parse(readFileSync(new URL(`${file}.map`), 'utf8')));
  } catch {
    return undefined;
  }
}

/** The line of a stack trace, with the original position where it is known. https://v8.dev/docs/stack-trace-api */
function formatFrame(frame: NodeJS.CallSite): string {
  // oxlint-disable-next-line typescript/no-base-to-string -- V8 formats it
  const text = String(frame);
  const [file, line, column] = [frame.getFileName(), frame.getLineNumber(), frame.getColumnNumber()];
  if (!file?.startsWith('file:') || line === null || column === null) return text;
  if (!sourceMaps.has(file)) sourceMaps.set(file, readSourceMap(file));
  // Source map positions start at 0, frame positions at 1.
  const map = sourceMaps.get(file);
  const entry = map?.findEntry(line - 1, column - 1);
  if (map === undefined || entry === undefined || !('originalSource' in entry)) return text;
  const { originalSource, originalLine, originalColumn } = entry;
  // Only maps for debuggers have a root, which Node.js leaves out.
  const { sourceRoot } = map.payload;
  const source = sourceRoot ? new URL(originalSource, sourceRoot).href : originalSource;
  const original = `${source}:${originalLine + 1}:${originalColumn + 1}`;
  return text.replace(`${file}:${line}:${column}`, () => original);
}

Error.prepareStackTrace = (error, frames) =>
  [String(error), ...frames.map((frame) => `    at ${formatFrame(frame)}`)].join('\n');
