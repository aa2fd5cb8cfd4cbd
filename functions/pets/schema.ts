import * as z from 'zod/mini';
import { int64, parseInt64 } from './int64.ts';

/** Every availability status (interface, section 2, PetStatus). */
export const petStatuses = ['available', 'pending', 'sold'] as const;
export type PetStatus = (typeof petStatuses)[number];

/** The status of an animal created without one: every animal can be reached by the status filter. */
export const defaultPetStatus: PetStatus = 'available';

/** Longest name, in Unicode code points. */
export const maxNameLength = 255;

export const petStatus = z.enum(petStatuses, { error: `must be one of ${petStatuses.join(', ')}` });

const name = z
  .string({ error: (issue) => (issue.input === undefined ? 'is required' : 'must be a string') })
  .check(
    // Control and format characters, such as U+200B, show no more than a space does.
    z.refine((text) => /[^\p{Z}\p{Cc}\p{Cf}]/u.test(text), 'must not be empty or only white space'),
    z.refine(
      (text) => Array.from(text).length <= maxNameLength,
      `must be at most ${maxNameLength} characters long`,
    ),
    // A lone surrogate has no UTF-8 form: it would be stored as U+FFFD, another name than the one sent.
    z.refine((text) => text.isWellFormed(), 'must be well-formed Unicode'),
    // API Gateway hands bodies over as text, with this in place of what it cannot read: again another name.
    z.refine(
      (text) => !text.includes('\ufffd'),
      'must not contain U+FFFD, which stands for bytes that are not UTF-8',
    ),
  );

/** An animal as sent on creation (interface, section 2, NewPet). Unknown fields are left out. */
export const newPet = z.object(
  { name, categoryId: int64, status: z._default(petStatus, defaultPetStatus) },
  { error: 'must be a JSON object' },
);
export type NewPet = z.infer<typeof newPet>;

/** An animal as returned (interface, section 2, Pet). */
export interface Pet extends NewPet {
  readonly id: bigint;
}

const storedInt64 = z.pipe(
  z.object({ value: z.string() }),
  z.transform(({ value: digits }, context) => {
    const value = parseInt64(digits);
    if (value !== undefined) return value;
    context.issues.push({ code: 'custom', message: 'is no int64', input: digits });
    return z.NEVER;
  }),
);

/**
 * An animal as read from the table, whose numbers arrive with their exact digits. Looser than `newPet`: what
 * was once accepted stays readable when a rule for new animals becomes stricter.
 */
export const storedPet = z.object({
  id: storedInt64,
  name: z.string(),
  categoryId: storedInt64,
  status: petStatus,
});
