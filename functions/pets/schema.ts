import * as z from 'zod/mini';
import { int64, parseInt64 } from './int64.ts';

/** docs/interface.md#petstatus */
export const petStatuses = ['available', 'pending', 'sold'] as const;
export type PetStatus = (typeof petStatuses)[number];

/** The status of a pet created without one, so that the status filter finds every pet. */
const defaultPetStatus: PetStatus = 'available';

export const petStatus = z.enum(petStatuses, { error: `must be one of ${petStatuses.join(', ')}` });

/**
 * The pattern of a text that people read. It means the same in every language, whether its reader searches, begins at the start, or
 * compares the whole text, so it cannot say all of the rule: not every language knows `\p`, and a PHP client compares bytes, where
 * U+0080 to U+009F are parts of letters.
 */
export const readablePattern = String.raw`^ *[^\x00-\x20\x7F][^\x00-\x1F\x7F]*$`;

/** A text that people read, such as one of 1 to 255 Unicode code points, on one line. Stored items are read with `z.string()` instead. */
export function readableText(minimum: number, maximum: number) {
  const lengthOf = (value: string): number => Array.from(value).length;
  return z
    .string({ error: (issue) => (issue.input === undefined ? 'is required' : 'must be a string') })
    .check(
      // Control and format characters, such as U+200B, are as invisible as a space.
      z.refine((value) => /[^\p{Z}\p{Cc}\p{Cf}]/u.test(value), {
        error: 'must not be empty or only whitespace',
        params: { pattern: readablePattern },
      }),
      // One name with a NUL, an escape sequence or a line feed breaks PostgreSQL, XML, spreadsheets and terminals of all readers.
      z.refine(
        (value) => !/\p{Cc}/u.test(value),
        'must not contain control characters (U+0000 to U+001F, U+007F to U+009F)',
      ),
      z.refine((value) => value === '' || lengthOf(value) >= minimum, {
        error: `must be at least ${minimum} characters long`,
        params: { minLength: minimum },
      }),
      z.refine((value) => lengthOf(value) <= maximum, {
        error: `must be at most ${maximum} characters long`,
        params: { maxLength: maximum },
      }),
      // A lone surrogate has no UTF-8 form and would be stored as U+FFFD.
      z.refine((value) => value.isWellFormed(), 'must be well-formed Unicode'),
      // API Gateway replaces bytes that are not UTF-8 with this character.
      z.refine(
        (value) => !value.includes('\ufffd'),
        'must not contain U+FFFD, which replaces bytes that are not UTF-8',
      ),
      // XML cannot contain them, not even escaped: https://www.w3.org/TR/xml/#charsets
      z.refine(
        (value) => !/[\ufffe\uffff]/.test(value),
        'must not contain U+FFFE or U+FFFF, which are not characters',
      ),
    );
}

/** docs/interface.md#newpet. Unknown fields are removed. */
export const newPet = z.object(
  { name: readableText(1, 255), categoryId: int64, status: z._default(petStatus, defaultPetStatus) },
  { error: 'must be a JSON object' },
);
export type NewPet = z.infer<typeof newPet>;

/** docs/interface.md#pet */
export interface Pet extends NewPet {
  readonly id: bigint;
}

const storedInt64Error = 'must be a whole number (an int64, DynamoDB type N)';

/** An int64 of a stored item. The SDK reads a number as an object with its digits. */
export const storedInt64 = z.pipe(
  z.custom<{ readonly value: string }>((input) => typeof Object(input).value === 'string', storedInt64Error),
  z.transform(({ value: digits }, context) => {
    const value = parseInt64(digits);
    if (value !== undefined) return value;
    context.issues.push({ code: 'custom', message: storedInt64Error, input: digits });
    return z.NEVER;
  }),
);

/**
 * Less strict than `newPet`: stored pets must stay readable when a rule for new ones becomes stricter. `satisfies` requires
 * optional fields as well, which would otherwise be lost on reading.
 */
export const storedPet = z.object({
  id: storedInt64,
  name: z.string('must be a string'),
  categoryId: storedInt64,
  status: petStatus,
} satisfies Record<keyof Pet, unknown>);
