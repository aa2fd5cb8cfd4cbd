import { errorCatalogue } from '../../functions/http/errors.ts';

/** Every error code of the service, with its status and its message. */
export const documentedErrors = {
  idempotency_key_reused: {
    status: 422,
    message: 'This Idempotency-Key was already used with another request body.',
  },
  ...errorCatalogue,
} as const;

export type DocumentedCode = keyof typeof documentedErrors;
export const documentedCodes = Object.keys(documentedErrors) as DocumentedCode[];
