import { fileURLToPath } from 'node:url';

/** What functions and the CDK print, for people. */

/** The local service itself, whose frames say nothing about a function. */
const ownCode = new URL('.', import.meta.url).href;

/** A stack trace without the frames of the local service and of Node.js itself, and with paths that can be opened. */
export function readableTrace(text: string): string {
  return text
    .split('\n')
    .filter(
      (line) =>
        !/^\s*at \S/.test(line) || !(line.includes(ownCode) || /[( ](?:node:|\[?native code)/.test(line)),
    )
    .map((line) =>
      line.replace(/(file:\/\/\S*?)(?=:\d+:\d+\)?$)/, (url) =>
        URL.canParse(url) ? fileURLToPath(url) : url,
      ),
    )
    .join('\n');
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
