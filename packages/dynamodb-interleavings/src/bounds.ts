import type { Call } from './call.ts';
import { defaultKinds, type Fault, faults as allFaults } from './faults.ts';
import { defaults, type Options } from './options.ts';

/** Whether a call of a schedule can meet something on AWS that is in no schedule. */
type Meets = (call: Call, index: number, calls: readonly Call[]) => boolean;

const isTransaction = ({ operation }: Call) => operation.startsWith('Transact');
const itemsOf = ({ input }: Call) => (input as { TransactItems?: readonly object[] }).TransactItems ?? [];
const tokenOf = ({ input }: Call) => (input as { ClientRequestToken?: string }).ClientRequestToken;
const ofDynamoDb = ({ service }: Call) => service === 'DynamoDB';

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
  ['no call is throttled by RequestLimitExceeded', (call) => call.fate === 'throttled' && ofDynamoDb(call)],
  [
    'a transaction is refused at one item only',
    (call) => isTransaction(call) && itemsOf(call).length > 1 && /^(conflict|throttled)$/.test(call.fate!),
  ],
  [
    'what fails in DynamoDB is InternalServerError, and never ServiceUnavailable',
    (call) => call.fate!.startsWith('failed') && ofDynamoDb(call),
  ],
  [
    'what is denied is so by AccessDeniedException, and never by expired credentials',
    (call) => call.fate === 'denied' && ofDynamoDb(call),
  ],
  ['a stale read misses writes of the last second only', ({ fate }) => fate === 'stale'],
  ['what answers instead is an HTML page or empty', ({ fate }) => fate!.startsWith('unreadable')],
  ['another service handles a call in one step', (call) => !ofDynamoDb(call)],
];

/** Of a schedule in which a process stands still: `longestPause` of schedule.ts. */
export const longestPauses = 'no process stands still for more than 500 steps';

/** What of it the calls of a schedule can meet. */
export function unexploredBy(calls: readonly Call[]): string[] {
  return unexplored.flatMap(([text, meets]) => (calls.some(meets) ? [text] : []));
}

/** What a run does not go beyond, and what follows from its options alone. */
export function boundsOf<Shared>(options: Options<Shared>): string[] {
  const { faults = 0, delays = defaults.delays, requestTimeout = defaults.requestTimeout } = options;
  const { kinds = defaultKinds, requests, afterwards = [], tables, events } = options;
  const many = (count: number, what: string) =>
    count === 0 ? `no ${what}` : `at most ${count} ${what}${count === 1 ? '' : 's'}`;
  const isIf = (condition: boolean, text: string) => (condition ? [text] : []);
  return [
    `${many(faults, 'fault')} and ${many(delays, 'delay')}, calls of at most ${requestTimeout / 1_000} s`,
    ...isIf(faults > 0 && kinds.length < allFaults.length, kindsText(kinds)),
    ...isIf(requests.length + afterwards.length > 1, 'all clocks show the same time'),
    ...isIf(
      events === undefined && tables.some(({ TimeToLiveSpecification: ttl }) => ttl?.Enabled === true),
      'no item is deleted when its time to live is over',
    ),
    ...isIf(
      tables.some(({ LocalSecondaryIndexes: indexes = [] }) => indexes.length > 0),
      'no write meets ItemCollectionSizeLimitExceededException',
    ),
  ];
}

/** The kinds that calls can meet, or those that they do not meet if these are fewer. */
function kindsText(kinds: readonly Fault[]): string {
  const others = allFaults.filter((each) => !kinds.includes(each));
  const isFew = kinds.length <= others.length;
  const named = isFew ? kinds : others;
  return `${isFew ? 'only' : 'never'} the fault${named.length === 1 ? '' : 's'} ${named.join(', ')}`;
}
