/** The functions of the service, each in `functions/<entry>.ts`. */
export const functionEntries = [
  'list-pets',
  'create-pet',
  'get-pet',
  'unmatched-route',
  'authorizer',
] as const;
export type FunctionEntry = (typeof functionEntries)[number];
