import { randomUUID } from 'node:crypto';
import type { Readable, Writable } from 'node:stream';
import { stripVTControlCharacters, styleText } from 'node:util';
import { keyExpression } from '../../../functions/access/keys.ts';
import { ToolError } from './errors.ts';

/** Where a tool reads from and writes to. */
export interface Io {
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
  /** Whether a person can answer a question. */
  readonly interactive: boolean;
  /** Aborted by Ctrl-C. */
  readonly interrupted?: AbortSignal;
}

/** An API key, or the hash of one. */
const secrets = new RegExp(`${keyExpression()}|[0-9A-Fa-f]{64}`, 'g');

/** Text with every key and hash removed. */
export function redact(text: string): string {
  return text.replace(secrets, '[redacted]');
}

type Style = 'red' | 'yellow' | 'green';

/** One line, or several. A line break in a line is a character of somebody's text, and is escaped. */
export type Lines = string | readonly string[];

/** Stands for the escape character of a colour until it is printed. Nobody can have stored it. */
const ownEscape = `<${randomUUID()}>`;

/**
 * Everything a tool prints goes through here, so that nothing that was stored or given can change what a terminal shows. Only `reveal`
 * prints a key.
 */
export class Output {
  readonly json: boolean;
  readonly #io: Io;
  /** Whether the last line on standard error is one that is replaced in place. */
  #hasProgress = false;

  constructor(io: Io, json: boolean) {
    this.#io = io;
    this.json = json;
  }

  /** Whether a person sees what is written in place. */
  get isLive(): boolean {
    return !this.json && isTerminal(this.#io.stderr);
  }

  /** The result: `value` with --json, otherwise `text`. */
  result(value: unknown, text: Lines): void {
    this.#write(this.#io.stdout, redact(this.#printed(value, text)));
  }

  /** The result that shows a key. Resolves when it is written. @throws ToolError if nobody can have read it */
  reveal(value: unknown, text: Lines): Promise<void> {
    return this.#writeAll(this.#printed(value, text));
  }

  /** Lines of JSON, escaped for a terminal, unchanged otherwise. Resolves when they are written. @throws ToolError if nobody reads them */
  data(lines: string): Promise<void> {
    return this.#writeAll(isTerminal(this.#io.stdout) ? printableJson(lines) : lines);
  }

  /** One line on standard error: `value` with --json, otherwise `text`. */
  report(value: unknown, text: string, style?: Style): void {
    const line = style === undefined ? text : this.paint(style, text, this.#io.stderr);
    const printed = this.json ? printableJson(JSON.stringify(value, exactNumbers)) : shown(line);
    this.#write(this.#io.stderr, `${redact(printed)}\n`);
  }

  /** Information besides the result. */
  note(text: string, style?: Style): void {
    this.report({ note: text }, text, style);
  }

  /** A line that replaces the one before, if that was such a line. Only if `isLive`. */
  progress(text: string): void {
    const { columns = 80 } = this.#io.stderr as { readonly columns?: number };
    this.#write(this.#io.stderr, redact(shown(text)).slice(0, columns - 1));
    this.#hasProgress = true;
  }

  /** Colours text on a terminal. Follows NO_COLOR and FORCE_COLOR. */
  paint(style: Style, text: string, stream: Writable = this.#io.stdout): string {
    return styleText(style, printable(text), { stream }).replaceAll('\u001b', ownEscape);
  }

  #printed(value: unknown, text: Lines): string {
    if (this.json) return `${printableJson(JSON.stringify(value, exactNumbers, 2))}\n`;
    return [text]
      .flat()
      .map((line) => `${shown(line)}\n`)
      .join('');
  }

  #write(stream: Writable, text: string, done?: (error?: Error | null) => void): void {
    if (this.#hasProgress) this.#io.stderr.write('\r\u001b[K');
    this.#hasProgress = false;
    stream.write(text, done);
  }

  #writeAll(text: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#write(this.#io.stdout, text, (error) => {
        if (!error) return resolve();
        const message = `The result could not be written to standard output (${error.message}).`;
        return reject(new ToolError('failed', message, { cause: error }));
      });
    });
  }
}

function isTerminal(stream: Writable): boolean {
  return (stream as { readonly isTTY?: boolean }).isTTY === true;
}

/** A replacer for `JSON.stringify` that gives a bigint all its digits. */
function exactNumbers(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? JSON.rawJSON(value.toString()) : value;
}

/** Text as one line for a terminal: what could change what it shows, such as control characters, is escaped as in JSON. Joiners shape letters. */
export function printable(text: string): string {
  return text.replaceAll(/(?![\u200c\u200d])[\p{C}\p{Zl}\p{Zp}]/gu, (character) =>
    Array.from({ length: character.length }, (_, index) => {
      const code = character.charCodeAt(index).toString(16).padStart(4, '0');
      return `\\u${code}`;
    }).join(''),
  );
}

/** JSON for a terminal. Its value stays the same: outside of texts, JSON has none of the other characters. */
function printableJson(json: string): string {
  return json.split('\n').map(printable).join('\n');
}

/** A line for a terminal, with the colours of `paint`. */
function shown(line: string): string {
  return line.split(ownEscape).map(printable).join('\u001b');
}

/** `12,345` */
export function grouped(count: number): string {
  return count.toLocaleString('en-US');
}

/** `12,345 animals`, `1 animal` */
export function counted(count: number, noun: string): string {
  return `${grouped(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** `2026-07-01T12:00:30Z`, `null` for 0 and `undefined`. @param seconds Unix seconds */
export function isoTime(seconds = 0): string | null {
  return seconds === 0 ? null : `${new Date(seconds * 1000).toISOString().slice(0, 19)}Z`;
}

/** Rows in columns two spaces apart, one a line. Cells can be coloured. */
export function tableLines(rows: readonly (readonly string[])[]): string[] {
  const widthOf = (cell = '') => stripVTControlCharacters(shown(cell)).length;
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => widthOf(row[column])))) ?? [];
  const line = (row: readonly string[]) =>
    row.map((cell, column) => cell + ' '.repeat(widths[column]! - widthOf(cell))).join('  ');
  return rows.map((row) => line(row).trimEnd());
}
