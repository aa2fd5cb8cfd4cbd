import { existsSync } from 'node:fs';
import { normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

/** This package, whose frames say nothing about a function. */
const ownCode = new URL('..', import.meta.url).href;

/**
 * A stack trace for people: without the frames of cdk-offline and of Node.js itself, and with paths that can be opened.
 * Other text stays as it is.
 */
export function readableTrace(text: string): string {
  return text
    .split('\n')
    .filter(
      (line) => !isFrame(line) || !(line.includes(ownCode) || /[( ](?:node:|\[?native code)/.test(line)),
    )
    .map((line) => (isFrame(line) ? withPath(line) : line))
    .join('\n');
}

function isFrame(line: string): boolean {
  return /^\s*at \S/.test(line);
}

/** `at NAME (FILE:LINE:COLUMN)` or `at FILE:LINE:COLUMN`, with a path in place of a URL. */
function withPath(line: string): string {
  return line.replace(
    /((?:\(|^\s*at (?:async )?))((?:file:\/\/)?(?:\/|[A-Za-z]:\\)[^()]*?)(:\d+:\d+\)?)$/,
    (_, before: string, file: string, position: string) => before + pathOf(file) + position,
  );
}

function pathOf(file: string): string {
  try {
    if (file.startsWith('file:')) return fileURLToPath(file);
    const path = normalize(file);
    // Node.js takes the path from the URL in a source map without decoding it.
    return existsSync(path) ? path : decodeURIComponent(path);
  } catch {
    return file;
  }
}
