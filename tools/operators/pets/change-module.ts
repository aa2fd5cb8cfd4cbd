import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';
import * as z from 'zod';
import { usageError } from '../command-line/errors.ts';
import { newPet, storedPet } from '../../../functions/pets/schema.ts';
import { type Attributes, idOf, type Item, toStored } from './items.ts';

/** A module whose default export says how an animal is to change. */

/** What a module wants to change of an animal. */
interface Wanted {
  /** The attributes as the items of the table have them. */
  readonly attributes: Attributes;
  /** The attributes as the module returned them. */
  readonly shown: Attributes;
}

/** Decides how an item is to change: `undefined` if it is so already. @throws ToolError if it must not be changed so */
export type Decide = (item: Item) => Promise<Wanted | undefined>;

const defaultExport = z.custom<(animal: unknown) => unknown>((value) => typeof value === 'function');
const returned = z.optional(z.record(z.string(), z.unknown()));

/**
 * @param allowInvalid whether it may write what a creation would refuse
 * @throws ToolError if the module cannot be loaded, or exports no function
 */
export async function loadChangeModule(
  file: string,
  { allowInvalid }: { readonly allowInvalid: boolean },
): Promise<Decide> {
  await stat(file);
  const module = (await import(pathToFileURL(resolve(file)).href).catch((error: unknown) => {
    throw usageError(`${file} cannot be loaded: ${messageOf(error)}`);
  })) as { readonly default?: unknown };
  const { data: decide } = defaultExport.safeParse(module.default);
  if (decide === undefined) throw usageError(`${file} has no default export that is a function.`);
  return async (item) => {
    const inFirstRun: Problem = (text) => usageError(`${file}: ${text} (animal ${idOf(item)}).`);
    const ask = async (animal: Item, problem: Problem) => {
      const result = await Promise.resolve(plain(animal))
        .then(decide)
        .catch((error: unknown) => {
          throw problem(`the function threw "${messageOf(error)}"`);
        });
      const { data: wanted, success } = returned.safeParse(result);
      if (!success) throw problem('the function must return an object of attributes, or undefined');
      return wanted ?? {};
    };
    const change = checked(item, await ask(item, inFirstRun), inFirstRun);
    if (change === undefined) return undefined;
    const refused = !allowInvalid && invalid(change.attributes);
    if (refused) throw inFirstRun(`${refused}. To write it nevertheless, add --allow-invalid`);
    // A run that has stopped is repeated, so the function also gets what it has changed already.
    const inSecondRun: Problem = (text) => inFirstRun(`in a second run, ${text}`);
    const changed = withAttributes(item, change.attributes);
    const [again] = differences(changed, await ask(changed, inSecondRun), inSecondRun);
    if (again !== undefined)
      throw inSecondRun(
        `the function would change "${again[0]}" once more. Return undefined for an animal that is changed already`,
      );
    return change;
  };
}

const { id: _, ...storedFields } = storedPet.shape;
const fields: Readonly<Record<string, z.core.$ZodType | undefined>> = { ...storedFields, ...newPet.shape };

/** What a creation would refuse of attributes, if anything. What is removed is no matter. */
function invalid(attributes: Attributes): string | undefined {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined) continue;
    const schema = fields[name];
    if (schema === undefined)
      return `an animal has no field "${name}", but ${Object.keys(fields).join(', ')}`;
    const { error } = z.safeParse(schema, plain({ value })['value']);
    if (error !== undefined) return `"${name}" ${error.issues.map(({ message }) => message).join('; ')}`;
  }
  return undefined;
}

type Problem = (text: string) => Error;

/** The attributes that differ, as they are stored. @throws ToolError if one cannot be stored */
function differences(item: Item, wanted: Attributes, problem: Problem) {
  const stored = Object.entries(wanted).map(([name, value]) => {
    if (value === undefined) throw problem(`"${name}" is undefined. Leave it out, or use null to remove it`);
    try {
      return [name, value === null ? undefined : asStored(value)] as const;
    } catch (error) {
      throw problem(`"${name}" cannot be stored: ${messageOf(error)}`);
    }
  });
  return stored.filter(([name, value]) => !isDeepStrictEqual(item[name], value));
}

/** The attributes that differ. @throws ToolError if the service could not read the animal with them */
function checked(item: Item, wanted: Attributes, problem: Problem): Wanted | undefined {
  const different = differences(item, wanted, problem);
  if (different.length === 0) return undefined;
  const attributes = Object.fromEntries(different);
  if ('id' in attributes) throw problem('"id" cannot be changed');
  const { malformed } = toStored(withAttributes(item, attributes));
  if (malformed !== undefined) throw problem(`the service could not read the animal: ${malformed}`);
  return { attributes, shown: Object.fromEntries(different.map(([name]) => [name, wanted[name]])) };
}

/** An item after a change. */
function withAttributes(item: Item, attributes: Attributes): Item {
  return Object.fromEntries(
    Object.entries({ ...item, ...attributes }).filter(([, value]) => value !== undefined),
  );
}

/** A value as it is when it is read. @throws Error if DynamoDB cannot store it */
function asStored(value: unknown): unknown {
  return unmarshall(marshall({ value }), { wrapNumbers: true })['value'];
}

/** The attributes of an item, for a module: whole numbers are bigints, as `id` is everywhere. */
function plain(item: Item): Record<string, unknown> {
  const wrapNumbers = (digits: string) => (/^-?\d+$/.test(digits) ? BigInt(digits) : Number(digits));
  return unmarshall(marshall(item), { wrapNumbers });
}

function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replaceAll(/\s+/g, ' ').trim();
}
