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

/** Everything a tool prints goes through here. Only `reveal` prints a key. */
export class Output {
  readonly json: boolean;
  readonly #io: Io;

  constructor(io: Io, json: boolean) {
    this.#io = io;
    this.json = json;
  }

  /** The result: `value` with --json, otherwise `text`. */
  result(value: unknown, text: string): void {
    this.#io.stdout.write(redact(this.#printed(value, text)));
  }

  /** The result that shows a key. Resolves when it is written. @throws ToolError if nobody can have read it */
  reveal(value: unknown, text: string): Promise<void> {
    return this.data(this.#printed(value, text));
  }

  /** Data of the store, unchanged. Resolves when it is written. @throws ToolError if nobody reads it */
  data(text: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#io.stdout.write(text, (error) => {
        if (!error) return resolve();
        const message = `The result could not be written to standard output (${error.message}).`;
        return reject(new ToolError('failed', message, { cause: error }));
      });
    });
  }

  /** One line on standard error: `value` with --json, otherwise `text`. */
  report(value: unknown, text: string, style?: Style): void {
    const coloured = style === undefined ? text : this.paint(style, text, this.#io.stderr);
    this.#io.stderr.write(`${redact(this.json ? JSON.stringify(value, exactNumbers) : coloured)}\n`);
  }

  /** Information besides the result. */
  note(text: string, style?: Style): void {
    this.report({ note: text }, text, style);
  }

  /** Colours text on a terminal. Follows NO_COLOR and FORCE_COLOR. */
  paint(style: Style, text: string, stream: Writable = this.#io.stdout): string {
    return styleText(style, text, { stream });
  }

  #printed(value: unknown, text: string): string {
    return `${this.json ? JSON.stringify(value, exactNumbers, 2) : text}\n`;
  }
}

/** For `JSON.stringify`: a bigint with all its digits. */
function exactNumbers(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? JSON.rawJSON(value.toString()) : value;
}

/** Text of clients for a terminal: control characters, which could change what it shows, escaped as in JSON. Joiners shape letters. */
export function printable(text: string): string {
  return text.replaceAll(/(?![\u200c\u200d])[\p{C}\p{Zl}\p{Zp}]/gu, (character) =>
    Array.from({ length: character.length }, (_, index) => {
      const code = character.charCodeAt(index).toString(16).padStart(4, '0');
      return `\\u${code}`;
    }).join(''),
  );
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

/** Rows in columns two spaces apart. Cells can be coloured. */
export function table(rows: readonly (readonly string[])[]): string {
  const widthOf = (cell = '') => stripVTControlCharacters(cell).length;
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => widthOf(row[column])))) ?? [];
  const line = (row: readonly string[]) =>
    row.map((cell, column) => cell + ' '.repeat(widths[column]! - widthOf(cell))).join('  ');
  return rows.map((row) => line(row).trimEnd()).join('\n');
}
