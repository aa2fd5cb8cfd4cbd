import { randomInt, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import * as z from 'zod';
import { parseJson } from '../../../functions/http/exact-json.ts';
import { maxBodyBytes } from '../../../functions/http/errors.ts';
import { int64 } from '../../../functions/pets/int64.ts';
import { idsPerMillisecond, newPetId } from '../../../functions/pets/ids.ts';
import { newPet } from '../../../functions/pets/schema.ts';
import { isKeyId } from '../keys/key-ids.ts';
import { problemsIn, ToolError, usageError } from '../command-line/errors.ts';
import { counted, grouped } from '../command-line/output.ts';
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
    addedBy: z.optional(
      z.string().check(z.refine(isKeyId, 'must be a key ID, such as key_06fz1m4tqabcdefg')),
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
  readonly pet: ImportedPet;
}

/** Problems that are printed. */
const problemsShown = 20;

/** Reads a file of pets. @throws ToolError if it has no animals or an invalid line */
export async function readPets({ service, output }: Session, file: string): Promise<Line[]> {
  if ((await stat(file)).isDirectory()) throw usageError(`${file} is a folder.`);
  // AWS accepts calls of clocks that are five minutes off.
  const parse = petParser(newPetId(service.clock() + 300_000, 0));
  const lines: Line[] = [];
  let number = 0;
  let problems = 0;
  for await (const text of linesOf(file)) {
    number += 1;
    if (text === '') continue;
    const pet = parse(text, number);
    if (typeof pet !== 'string') {
      lines.push({ number, pet });
      continue;
    }
    problems += 1;
    if (problems <= problemsShown)
      output.report({ invalid: { line: number, problem: pet } }, `${file}:${number}: ${pet}`);
  }
  if (problems > 0)
    throw usageError(
      `${file} has ${counted(problems, 'invalid line')}. Nothing was done. A line is one animal, such as {"name":"Rex","categoryId":7}.`,
    );
  if (lines.length === 0) throw usageError(`${file} has no animals.`);
  return lines;
}

export type LineWithId = Line & { readonly pet: { readonly id: bigint } };

/** The same, if each animal has an ID. @param advice if not @throws ToolError */
export async function readPetsWithIds(session: Session, file: string, advice: string): Promise<LineWithId[]> {
  const lines = await readPets(session, file);
  const withIds = lines.filter((line): line is LineWithId => line.pet.id !== undefined);
  const withoutId = lines.length - withIds.length;
  if (withoutId === 0) return withIds;
  throw usageError(`${file} has ${counted(withoutId, 'animal')} without an ID. ${advice}`);
}

/** Characters of a line, at most: as many as the service takes bytes. */
const longestLine = maxBodyBytes;

/**
 * The lines of a file, trimmed, also of a byte-order mark. Only a line feed ends a line: names can contain U+2028. Of a line that is
 * too long, which may be a file of another kind, comes only the beginning.
 */
async function* linesOf(file: string): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of createReadStream(file, 'utf8')) {
    const texts = `${rest}${chunk as string}`.split('\n');
    rest = texts.pop()?.slice(0, longestLine + 1) ?? '';
    yield* texts.map((text) => text.trim());
  }
  yield rest.trim();
}

/** The name of a member that an object has twice, of which `JSON.parse` keeps the last. @param json is valid */
function repeatedMember(json: string): string | undefined {
  const names = new Set<string>();
  let depth = 0;
  for (const [token, name, colon] of json.matchAll(/("(?:[^"\\]|\\.)*")\s*(:)?|[{}[\]]/g)) {
    if (token === '{' || token === '[') depth += 1;
    else if (token === '}' || token === ']') depth -= 1;
    if (name === undefined || colon === undefined || depth !== 1) continue;
    const member = JSON.parse(name) as string;
    if (names.has(member)) return member;
    names.add(member);
  }
  return undefined;
}

/**
 * A parser for the lines of one file. It returns the pet of a line, or what is wrong with it.
 *
 * @param newest the largest ID that the service can have given so far
 */
export function petParser(newest: bigint) {
  const linesById = new Map<bigint, number>();
  return (text: string, number: number): ImportedPet | string => {
    if (text.length > longestLine) return `is longer than ${grouped(longestLine)} characters`;
    let value: unknown;
    try {
      value = parseJson(text);
    } catch (error) {
      return error instanceof RangeError ? 'is nested too deeply' : 'is not JSON';
    }
    const repeated = repeatedMember(text);
    if (repeated !== undefined) return `has the field ${JSON.stringify(repeated)} twice`;
    const { data: pet, error } = z.safeParse(importedPet, value);
    if (pet === undefined) return problemsIn(value, error);
    if (pet.id === undefined) return pet;
    // The service would give the ID to another animal later.
    if (pet.id > newest) return 'id: is of a moment in the future';
    const earlier = linesById.get(pet.id);
    if (earlier !== undefined) return `id: is that of line ${earlier}`;
    linesById.set(pet.id, number);
    return pet;
  };
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

/**
 * Writes a file that does not exist yet. It gets its name when it is complete; a process that is killed leaves a file `.part`.
 *
 * @throws ToolError if there is such a file
 */
export async function writeNewFile(
  file: string,
  texts: Iterable<string> | AsyncIterable<string>,
): Promise<void> {
  // A folder that does not exist is named by this call.
  await stat(dirname(file));
  await expectNone(file);
  // Another command that writes the same file has a part of its own.
  const part = `${file}.${randomUUID().slice(0, 8)}.part`;
  try {
    await writeFile(part, texts, { flag: 'wx', flush: true });
    await expectNone(file);
    await rename(part, file);
  } finally {
    await rm(part, { force: true });
  }
}

async function expectNone(file: string): Promise<void> {
  if ((await stat(file).catch(() => undefined)) === undefined) return;
  throw new ToolError('refused', `${file} exists. Remove it, or choose another name.`);
}
