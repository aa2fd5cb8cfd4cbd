import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import * as z from 'zod';
import { parseJson } from '../../functions/http/exact-json.ts';
import { int64 } from '../../functions/pets/int64.ts';
import { newPet } from '../../functions/pets/schema.ts';

/** Files of JSON Lines (https://jsonlines.org): a pet a line, as `export` writes them. */

/** The largest whole number that every JSON client reads exactly, and so the largest ID. */
const largestId = 2n ** 53n - 1n;

/** An unknown field is an error: it may be a misspelt one. */
const importedPet = z.strictObject(
  {
    ...newPet.shape,
    id: z.optional(
      int64.check(z.refine((id) => id >= 0n && id <= largestId, `must be from 0 to ${largestId}`)),
    ),
  },
  {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? `has the unknown field ${JSON.stringify(issue.keys.join(', '))}`
        : 'must be a JSON object',
  },
);
export type ImportedPet = z.infer<typeof importedPet>;

export interface Line {
  /** Counted from 1. */
  readonly number: number;
  readonly text: string;
}

/**
 * The lines of a file, blank ones included, without a byte-order mark at its beginning. Only a line feed ends a line: names
 * can contain U+2028.
 */
export async function* linesOf(file: string): AsyncGenerator<Line> {
  let number = 0;
  let rest = '';
  let isFirst = true;
  for await (const chunk of createReadStream(file, { encoding: 'utf8' })) {
    const text = isFirst ? String(chunk).replace(/^\ufeff/, '') : String(chunk);
    isFirst = false;
    const texts = `${rest}${text}`.split('\n');
    rest = texts.pop() ?? '';
    for (const each of texts) yield { number: (number += 1), text: each };
  }
  if (rest !== '') yield { number: number + 1, text: rest };
}

export function isBlank({ text }: Line): boolean {
  return text.trim() === '';
}

/** The pet of a line, or what is wrong with it. @param newest the largest ID that the service can have given so far */
export function parseLine({ text }: Line, newest: bigint): ImportedPet | string {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch {
    return 'is not JSON';
  }
  const { data, error } = z.safeParse(importedPet, value);
  if (data === undefined)
    return error.issues
      .map(({ path, message }) => (path.length === 0 ? message : `${path.join('.')}: ${message}`))
      .join('; ');
  // The service would give the ID to another animal later.
  if (data.id !== undefined && data.id > newest) return 'id: is of a moment in the future';
  return data;
}

/** A hash of the lines read so far, to recognise them again. */
export class LinesHash {
  readonly #hash = createHash('sha256');

  add({ text }: Line): void {
    this.#hash.update(text).update('\n');
  }

  get value(): string {
    return this.#hash.copy().digest('base64url');
  }
}

export interface CheckedFile {
  readonly lines: number;
  readonly pets: number;
  /** Whether every pet has an ID. */
  readonly hasAllIds: boolean;
  readonly problems: readonly { readonly line: number; readonly problem: string }[];
  /** The hash of the first lines. */
  readonly hashOfFirst: string;
  /** The hash of all lines. */
  readonly hash: string;
}

/** Reads a file without importing anything. @param first how many lines `hashOfFirst` is about */
export async function checkFile(file: string, newest: bigint, first: number): Promise<CheckedFile> {
  const problems: { line: number; problem: string }[] = [];
  const linesById = new Map<bigint, number>();
  const hash = new LinesHash();
  let hashOfFirst = hash.value;
  let lines = 0;
  let pets = 0;
  for await (const line of linesOf(file)) {
    lines = line.number;
    hash.add(line);
    if (lines <= first) hashOfFirst = hash.value;
    if (isBlank(line)) continue;
    pets += 1;
    const parsed = parseLine(line, newest);
    if (typeof parsed === 'string') problems.push({ line: lines, problem: parsed });
    else if (parsed.id !== undefined) {
      const earlier = linesById.get(parsed.id);
      if (earlier === undefined) linesById.set(parsed.id, lines);
      else problems.push({ line: lines, problem: `id: is that of line ${earlier}` });
    }
  }
  return { lines, pets, hasAllIds: linesById.size === pets, problems, hashOfFirst, hash: hash.value };
}
