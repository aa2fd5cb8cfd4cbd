export const faults = [
  'lostBefore',
  'lostAfter',
  'late',
  'hungBefore',
  'hungAfter',
  'unreadableBefore',
  'unreadableAfter',
  'failed',
  'failedAfter',
  'throttled',
  'conflict',
  'denied',
  'stale',
  'shortPage',
  'unprocessed',
  'crashedBefore',
  'crashedAfter',
  'paused',
] as const;
/**
 * What happens to a call instead of a complete answer. Where it says DynamoDB, the same is true of another service.
 *
 * - `lostBefore`, `lostAfter`: the connection breaks before DynamoDB gets the call, or after it has applied it.
 * - `late`: the connection breaks, and DynamoDB applies the call at any time afterwards.
 * - `hungBefore`, `hungAfter`: no answer comes until the client's time-out. DynamoDB does not get the call, or applies it.
 * - `unreadableBefore`, `unreadableAfter`: something else answers, such as a proxy. DynamoDB does not get the call, or applies it.
 * - `failed`, `failedAfter`: DynamoDB answers with an internal error. It has applied nothing, or the call.
 * - `throttled`: DynamoDB refuses the call because there are too many: with each error that it has for that, and in a transaction for
 *   each item.
 * - `conflict`: DynamoDB refuses a write because a transaction is writing its item, or a transaction because one of its items is
 *   written meanwhile.
 * - `denied`: DynamoDB refuses the call because a permission is missing.
 * - `stale`: a read that is not consistent, or of a global index, does not see the last writes, if they are of the last second.
 * - `shortPage`: a query or scan ends early, with a LastEvaluatedKey. The page is empty if a filter leaves its items out.
 * - `unprocessed`: a batch leaves out an item, or all from one on. They are its UnprocessedItems or UnprocessedKeys.
 * - `crashedBefore`, `crashedAfter`: the process of the request ends before DynamoDB gets the call, or after it has applied it.
 * - `paused`: the process stands still before it sends the call, as in a frozen Lambda environment or a long garbage collection.
 *   Others go on and time passes, and its timers and answers wait for the end of the pause.
 */
export type Fault = (typeof faults)[number];
export type Fate = 'answered' | Fault;

/** What calls meet only if `kinds` says so. */
const unusual = new Set<Fault>([
  'hungBefore',
  'unreadableBefore',
  'unreadableAfter',
  'failed',
  'failedAfter',
]);
/** What they meet otherwise. */
export const defaultKinds: readonly Fault[] = faults.filter((each) => !unusual.has(each));
/** What they meet in a run that deepens: all but the answers of something that is not of AWS, which the SDK can take for a success. */
export const kindsOfAws: readonly Fault[] = faults.filter((each) => !each.startsWith('unreadable'));
