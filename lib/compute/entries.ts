/** The functions of the service: `functions/<entry>.ts` each. */
export const functionEntries = [
  'list-pets',
  'create-pet',
  'get-pet',
  'unmatched-route',
  'authorizer',
] as const;
export type FunctionEntry = (typeof functionEntries)[number];
