import type { Readable, Writable } from 'node:stream';

/** Where the tool reads from and writes to. */
export interface Io {
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
  /** Whether someone is there to answer a question. */
  readonly interactive: boolean;
}

/** A key, or the hash of one. */
const secrets = /as_[a-z][a-z0-9]*_[0-9A-Za-z]{36}|[0-9A-Fa-f]{64}/g;

/** Text with every key and hash taken out, wherever it came from. */
export function redact(text: string): string {
  return text.replace(secrets, '[redacted]');
}

/** Everything the tool prints goes through here, and no key but through `reveal`. */
export class Output {
  readonly json: boolean;
  readonly #io: Io;

  constructor(io: Io, json: boolean) {
    this.#io = io;
    this.json = json;
  }

  /** A result: `value` as JSON when that is asked for, `text` otherwise. */
  result(value: unknown, text: string): void {
    const printed = this.json ? JSON.stringify(value, undefined, 2) : text;
    this.#io.stdout.write(`${redact(printed)}\n`);
  }

  /** Something to know besides the result. */
  note(text: string): void {
    this.#io.stderr.write(`${redact(text)}\n`);
  }

  /** The one line that shows a key. Resolves when it is written; rejects when nobody can have read it. */
  reveal(value: unknown, text: string): Promise<void> {
    const printed = this.json ? JSON.stringify(value) : text;
    return new Promise((resolve, reject) => {
      this.#io.stdout.write(`${printed}\n`, (error) => (error ? reject(error) : resolve()));
    });
  }
}
