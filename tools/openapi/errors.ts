import { type ErrorCode, errorCatalogue } from '../../functions/http/errors.ts';

/** Every error code of the service, with its status and its message. */
export const documentedErrors = errorCatalogue;

export type DocumentedCode = ErrorCode;
export const documentedCodes = Object.keys(documentedErrors) as DocumentedCode[];
