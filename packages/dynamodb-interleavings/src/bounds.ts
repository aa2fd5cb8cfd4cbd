import type { Call } from './call.ts';
import { defaultKinds, type Fault, faults as allFaults } from './faults.ts';
import { defaults, type Options } from './options.ts';

/** Whether a call of a schedule can meet something on AWS that is in no schedule. */
type Meets = (call: Call, index: number, calls: readonly Call[]) => boolean;

const isTransaction = ({ operation }: Call) => operation.startsWith('Transact');
const itemsOf = ({ input }: Call) => (input as { TransactItems?: readonly object[] }).TransactItems ?? [];
const keysOf = (input: object) =>
  Object.values((input as { RequestItems: Record<string, { Keys: readonly object[] }> }).RequestItems).reduce(
    (count, { Keys: keys }) => count + keys.length,
    0,
  );
const tokenOf = ({ input }: Call) => (input as { ClientRequestToken?: string }).ClientRequestToken;
const ofDynamoDb = ({ service }: Call) => service === 'DynamoDB';

/** Of faults that have more forms on AWS. PROOF.md names these. */
const forms = 'faults only in the forms of PROOF.md';

/**
 * What happens to calls on AWS and in no schedule, by the errors of each operation
 * (https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Operations_Amazon_DynamoDB.html), those of all of them
 * (CommonErrors.html), and what is said about transactions, batches and reads.
 */
export const unexplored: readonly (readonly [text: string, meets: Meets])[] = [
  [
    'a query or scan sees one state of its items',
    ({ operation, outcome = '' }) => /^(Query|Scan)$/.test(operation) && /"Count":(?!0,|1,)/.test(outcome),
  ],
  [
    'no transaction that is repeated with its token meets TransactionInProgressException',
    (call, index, calls) =>
      tokenOf(call) !== undefined && calls.slice(0, index).some((each) => tokenOf(each) === tokenOf(call)),
  ],
  [
    'batches and scans answer in the order of the keys',
    ({ operation, outcome = '', input }) =>
      operation === 'Scan'
        ? /"Count":(?!0,|1,)/.test(outcome)
        : operation === 'BatchGetItem' && keysOf(input) > 1,
  ],
  [
    forms,
    (call) =>
      /^(unreadable|stale$)/.test(call.fate!) ||
      (ofDynamoDb(call) && /^(failed|throttled$|denied$)/.test(call.fate!)) ||
      (call.fate === 'conflict' && isTransaction(call) && itemsOf(call).length > 1),
  ],
  ['another service handles a call in one step', (call) => !ofDynamoDb(call)],
];

/** Of a schedule in which a process stands still. */
export const longestPauses = forms;

/** What of it the calls of a schedule can meet. */
export function unexploredBy(calls: readonly Call[]): string[] {
  return unexplored.flatMap(([text, meets]) => (calls.some(meets) ? [text] : []));
}

/** What a run does not go beyond, and what follows from its options. @param hasDeletion whether an event deletes */
export function boundsOf<Shared>(options: Options<Shared>, hasDeletion: boolean): string[] {
  const { faults = 0, delays = defaults.delays, requestTimeout = defaults.requestTimeout } = options;
  const { kinds = defaultKinds, tables, events } = options;
  const many = (count: number, what: string) =>
    count === 0 ? `no ${what}` : `at most ${count} ${what}${count === 1 ? '' : 's'}`;
  const isIf = (condition: boolean, text: string) => (condition ? [text] : []);
  return [
    `${many(faults, 'fault')} and ${many(delays, 'delay')}, calls of at most ${requestTimeout / 1_000} s`,
    ...isIf(faults > 0 && kinds.length < allFaults.length, kindsText(kinds)),
    ...isIf(
      !hasDeletion && tables.some(({ TimeToLiveSpecification: ttl }) => ttl?.Enabled === true),
      'no item is deleted when its time to live is over',
    ),
    ...isIf(events !== undefined, 'no event happens after the last answer'),
    ...isIf(
      tables.some(({ LocalSecondaryIndexes: indexes = [] }) => indexes.length > 0),
      'no write meets ItemCollectionSizeLimitExceededException',
    ),
  ];
}

/** What is the same for every run. */
export function alwaysOf<Shared>({ requests, afterwards = [] }: Options<Shared>): string {
  const isMany = requests.length > 1;
  const clocks = requests.length + afterwards.length > 1 ? 'one clock for all, ' : '';
  return `as always (PROOF.md): ${isMany ? 'all requests begin at the same time, ' : ''}${clocks}time goes on only with timers`;
}

/** Faults that were asked for, and that no call has met. */
export function unmetText(kinds: readonly Fault[]): string[] {
  return kinds.length === 0
    ? []
    : [`no call met the fault${kinds.length === 1 ? '' : 's'} ${kinds.join(', ')}`];
}

/** The kinds that calls can meet, or those that they do not meet if these are fewer. */
function kindsText(kinds: readonly Fault[]): string {
  const others = allFaults.filter((each) => !kinds.includes(each));
  const isFew = kinds.length <= others.length;
  const named = isFew ? kinds : others;
  return `${isFew ? 'only' : 'never'} the fault${named.length === 1 ? '' : 's'} ${named.join(', ')}`;
}
