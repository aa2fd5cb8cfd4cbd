import type { Readable } from 'node:stream';

/** Calls back for each line of a stream, also for a last line without a line feed. */
export function eachLine(stream: Readable, onLine: (line: string) => void): void {
  let rest = '';
  stream.setEncoding('utf8');
  stream.on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) onLine(line);
  });
  stream.on('end', () => {
    if (rest !== '') onLine(rest);
  });
}

/**
 * Control characters other than tab and line feed as `\\u001b`, so that they do not reach the terminal. JSON keeps its
 * meaning. In a line of a function, carriage returns stand for line feeds, as on Lambda.
 */
export function withoutControls(text: string): string {
  return text
    .replaceAll(/\r\n?/g, '\n')
    .replaceAll(
      /(?![\t\n])\p{Cc}/gu,
      (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
}
