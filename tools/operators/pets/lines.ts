import { randomInt } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import * as z from 'zod';
import { parseJson } from '../../../functions/http/exact-json.ts';
import { int64 } from '../../../functions/pets/int64.ts';
import { idsPerMillisecond, newPetId } from '../../../functions/pets/ids.ts';
import { newPet } from '../../../functions/pets/schema.ts';
import { problemsIn, usageError } from '../command-line/errors.ts';
import { counted, printable } from '../command-line/output.ts';
import type { Session } from './pet-command.ts';
import type { PetService } from './service.ts';

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
 * The lines of a file but the blank ones, without a byte-order mark at its beginning. Only a line feed ends a line: names can
 * contain U+2028.
 */
export async function* linesOf(file: string): AsyncGenerator<Line> {
  const decoder = new TextDecoder();
  let number = 0;
  let rest = '';
  for await (const chunk of createReadStream(file)) {
    const texts = `${rest}${decoder.decode(chunk as Buffer, { stream: true })}`.split('\n');
    rest = texts.pop() ?? '';
    for (const text of texts) {
      number += 1;
      if (text.trim() !== '') yield { number, text };
    }
  }
  if (rest.trim() !== '') yield { number: number + 1, text: rest };
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
  if (data === undefined) return problemsIn(value, error);
  // The service would give the ID to another animal later.
  if (data.id !== undefined && data.id > newest) return 'id: is of a moment in the future';
  return data;
}

/** The largest ID that the service can have given so far. AWS accepts calls of clocks that are five minutes off. */
export function newestId({ clock }: PetService): bigint {
  return newPetId(clock() + 300_000, 0);
}

/** Milliseconds: an hour. */
const fileIdSpan = 3_600_000;

/**
 * New IDs for the animals of a file, in order, which the service never gives: consecutive ones that begin at random within the
 * last hour, so that another run at the same time gives others.
 */
export function* newFileIds({ clock }: PetService, count: number): Generator<bigint, never> {
  const last = Math.floor(clock()) * idsPerMillisecond - count;
  for (let position = last - randomInt(fileIdSpan * idsPerMillisecond); ; position += 1) {
    const index = position % idsPerMillisecond;
    yield newPetId((position - index) / idsPerMillisecond, 0) + BigInt(idsPerMillisecond + index);
  }
}

/** Problems that are printed. */
const problemsShown = 20;

/**
 * Checks all lines of a file.
 *
 * @returns the number of its animals, and of those without an ID
 * @throws ToolError if it has no animals or an invalid line
 */
export async function checkFile({ output }: Pick<Session, 'output'>, file: string, newest: bigint) {
  // `-` is standard input in other commands.
  if (file === '-' || !(await stat(file)).isFile())
    throw usageError(`${file} is not a regular file. It is read twice: save its lines to a file.`);
  const linesById = new Map<bigint, number>();
  let pets = 0;
  let problems = 0;
  for await (const { number, text } of linesOf(file)) {
    pets += 1;
    const problem = problemOf(parseLine({ number, text }, newest), number, linesById);
    if (problem === undefined) continue;
    problems += 1;
    if (problems <= problemsShown)
      output.report({ invalid: { line: number, problem } }, `${file}:${number}: ${printable(problem)}`);
  }
  if (problems > 0)
    throw usageError(
      `${file} has ${counted(problems, 'invalid line')}. Nothing was done. A line is one animal, such as {"name":"Rex","categoryId":7}.`,
    );
  if (pets === 0) throw usageError(`${file} has no animals.`);
  return { pets, withoutId: pets - linesById.size };
}

function problemOf(parsed: ImportedPet | string, number: number, linesById: Map<bigint, number>) {
  if (typeof parsed === 'string') return parsed;
  if (parsed.id === undefined) return undefined;
  const earlier = linesById.get(parsed.id);
  if (earlier !== undefined) return `id: is that of line ${earlier}`;
  linesById.set(parsed.id, number);
  return undefined;
}
