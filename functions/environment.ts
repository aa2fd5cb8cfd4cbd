import * as z from 'zod/mini';

/** An environment variable that is a whole number. */
export const wholeNumber = z.pipe(
  z.string().check(z.regex(/^\d+$/)),
  z.transform((digits) => Number(digits)),
);
