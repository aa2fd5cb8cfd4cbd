import { type Metric, metrics } from '../../functions/http/metrics.ts';
import { toLogLine } from '../../functions/http/telemetry.ts';
import { pageSize } from '../../functions/pets/listing.ts';
import { maxNameLength, type PetStatus, petStatuses } from '../../functions/pets/schema.ts';
import type { FunctionEntry } from '../../lib/compute/entries.ts';
import { errorBody, type ErrorCode } from '../../functions/http/errors.ts';
import { itemBytes, readUnits, writeUnits } from './capacity.ts';
import { cost, type Priced } from './prices.ts';
import type { StageFootprint } from './stage.ts';

interface Animal {
  readonly [attribute: string]: string | number;
  readonly id: number;
  readonly name: string;
  readonly categoryId: number;
  readonly status: PetStatus;
}

const animal: Animal = {
  id: 114_841_436_160_017,
  name: 'Bella, tabby, three years',
  categoryId: 12,
  status: 'available',
};

/**
 * What cannot be known before there is traffic. Durations are those of DynamoDB in the same Region, which answers
 * within a few milliseconds; docs/cost.md says how little hangs on them.
 */
export interface Assumptions {
  /** How many requests a key sends in a minute in which it sends any, at least 1. */
  readonly requestsPerActiveMinute: number;
  /** Billed milliseconds of a warm execution with one round trip to DynamoDB. A creation has two. */
  readonly roundTrip: number;
  /** Share of the executions that start a new environment, and the milliseconds that its start is billed. */
  readonly coldStarts: number;
  readonly coldStart: number;
  /** Bytes of an answer's status line and headers, with the frames around them. */
  readonly headerBytes: number;
  readonly animal: Animal;
  /** Share of the requests that X-Ray records. Its default is 5 % beyond the first of each second. */
  readonly traced: number;
}

export const ordinary: Assumptions = {
  requestsPerActiveMinute: 10,
  roundTrip: 8,
  coldStarts: 0.01,
  coldStart: 300,
  headerBytes: 900,
  animal,
  traced: 0.05,
};

/**
 * Nobody else calls, and the requests are spread over the day, so that each is cold, traced, and the first of its
 * minute. All animals have the longest names there are.
 */
export const worst: Assumptions = {
  ...ordinary,
  requestsPerActiveMinute: 1,
  coldStarts: 1,
  traced: 1,
  animal: { ...animal, name: '🐈'.repeat(maxNameLength), categoryId: Number.MAX_SAFE_INTEGER },
};

/** How much a request uses of each thing that has a price. */
export type Use = Readonly<Partial<Record<Priced, number>>>;

export function add(...uses: readonly Use[]): Use {
  const sum: Partial<Record<Priced, number>> = {};
  for (const use of uses) {
    for (const [item, quantity] of entriesOf(use)) sum[item] = (sum[item] ?? 0) + quantity;
  }
  return sum;
}

export function times(factor: number, use: Use): Use {
  return Object.fromEntries(entriesOf(use).map(([item, quantity]) => [item, quantity * factor]));
}

/** US dollars. */
export function costOf(use: Use): number {
  return entriesOf(use).reduce((sum, [item, quantity]) => sum + cost(item, quantity), 0);
}

/** A cast, because Object.entries forgets which keys there can be. */
function entriesOf(use: Use): [Priced, number][] {
  return Object.entries(use) as [Priced, number][];
}

/** What can become of a request. */
export type RequestKind =
  | 'listByStatus'
  | 'list'
  | 'listLongest'
  | 'create'
  | 'get'
  | 'unmatched'
  | 'rejectedRead'
  | 'rejectedLongest'
  | 'rejectedCreate'
  | 'suspended'
  | 'throttled'
  | 'unauthenticated'
  | 'unknownKey';

/**
 * What one request of each kind uses, with the share of the authorizer that falls to it: the authorizer is asked once a
 * minute and key. The first request of a key's minute writes twice to its limits.
 */
export function usesOf(
  footprint: StageFootprint,
  assumed: Assumptions = ordinary,
): Readonly<Record<RequestKind, Use>> {
  const { animal: each, requestsPerActiveMinute } = assumed;
  const firstOfMinute = 1 / requestsPerActiveMinute;
  const authorized = times(firstOfMinute, authorizer(footprint, assumed));
  const admitted: Use = { writeUnit: 1 + firstOfMinute };
  // The write that assumed there was room, and the one that counts the rejection.
  const rejected: Use = { writeUnit: 2 };
  // The condition of the one write fails.
  const suspended: Use = { writeUnit: 1 };

  const served = (
    entry: FunctionEntry,
    status: number,
    bodyBytes: number,
    counts: readonly Metric[],
    trips = 1,
  ) =>
    add(
      { gatewayCall: 1 },
      execution(footprint, assumed, entry, trips),
      { logIngestion: functionLine(entry, status, counts) + accessLine(footprint, status) },
      answer(assumed, bodyBytes),
      authorized,
    );
  const refused = (entry: FunctionEntry, code: ErrorCode, count: Metric) =>
    served(entry, errorBody(code).status, json(errorBody(code)), [count]);
  const byGateway = (code: ErrorCode) =>
    add(
      { logIngestion: accessLine(footprint, errorBody(code).status) },
      answer(assumed, json(errorBody(code))),
    );

  const page = (limit: number) => json(Array.from({ length: limit }, () => each));
  const query = (limit: number): Use => ({ readUnit: readUnits((limit + 1) * itemBytes(each)) });
  const fetched: Use = { readUnit: readUnits(itemBytes(each)) };
  // The table, and its index.
  const created: Use = { writeUnit: 2 * writeUnits(itemBytes(each)) };
  // Each partition may have to give the whole page.
  const everyStatus = (limit: number): Use => times(petStatuses.length, query(limit));

  const rejection = add(refused('list-pets', 'rate_limit_exceeded', metrics.rejected), rejected);
  const listing = (limit: number, reads: Use) =>
    add(served('list-pets', 200, page(limit), [metrics.admitted]), admitted, reads);
  return {
    listByStatus: listing(pageSize.default, query(pageSize.default)),
    list: listing(pageSize.default, everyStatus(pageSize.default)),
    listLongest: listing(pageSize.max, everyStatus(pageSize.max)),
    create: add(
      served('create-pet', 201, json(each), [metrics.admitted, metrics.created], 2),
      admitted,
      created,
    ),
    get: add(served('get-pet', 200, json(each), [metrics.admitted, metrics.deprecated]), admitted, fetched),
    unmatched: add(refused('unmatched-route', 'route_not_found', metrics.admitted), admitted),
    // A read is sent along with its limit, and so is paid even when it is rejected.
    rejectedRead: add(rejection, everyStatus(pageSize.default)),
    rejectedLongest: add(rejection, everyStatus(pageSize.max)),
    rejectedCreate: add(refused('create-pet', 'rate_limit_exceeded', metrics.rejected), rejected),
    suspended: add(
      refused('list-pets', 'key_suspended', metrics.suspended),
      suspended,
      everyStatus(pageSize.default),
    ),
    // API Gateway charges for none of the following; what is left are the log and the answer.
    throttled: add(byGateway('rate_limit_exceeded'), authorized),
    unauthenticated: byGateway('unauthorized'),
    unknownKey: add(byGateway('unauthorized'), authorizer(footprint, assumed)),
  };
}

function execution(
  { memory }: StageFootprint,
  { roundTrip, coldStarts, coldStart }: Assumptions,
  entry: FunctionEntry,
  roundTrips: number,
): Use {
  const mebibytes = memory.get(entry);
  if (mebibytes === undefined) throw new Error(`The stage has no function ${entry}`);
  const billed = roundTrips * roundTrip + coldStarts * coldStart;
  return { invocation: 1, gbSecond: ((mebibytes / 1024) * billed) / 1000 };
}

function authorizer(footprint: StageFootprint, assumed: Assumptions): Use {
  // As Lambda writes what the function logs:
  // https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs-logformat.html
  const line = json({
    timestamp: sample.time,
    level: 'INFO',
    requestId: sample.requestId,
    message: { operation: 'authorize', outcome: 'granted', keyId: sample.keyId, plan: sample.plan },
  });
  return add(execution(footprint, assumed, 'authorizer', 1), {
    logIngestion: line + logEventBytes,
    readUnit: readUnits(keyRecordBytes, { consistent: true }),
  });
}

function answer({ headerBytes, traced }: Assumptions, bodyBytes: number): Use {
  return { transferOut: headerBytes + bodyBytes, trace: traced };
}

/** CloudWatch Logs bills these for each event, beside its text: https://aws.amazon.com/cloudwatch/pricing/ */
const logEventBytes = 26;

/** Less than a read unit by far, whatever an operator notes beside the key. */
const keyRecordBytes = 1024;

const sample = {
  time: '2026-11-21T08:30:00.000Z',
  requestId: '5f6ac1d2-7c1f-4a55-9d0e-3a8b1d0c7e21',
  keyId: 'key_0123456789abcdefgh',
  plan: 'business',
} as const;

/** The very line that the functions write. */
function functionLine(entry: FunctionEntry, status: number, counts: readonly Metric[]): number {
  const line = toLogLine(
    {
      requestId: sample.requestId,
      operation: entry,
      status,
      durationMs: 8.125,
      coldStart: false,
      keyId: sample.keyId,
      plan: sample.plan,
      faults: [],
      counts: new Map(counts.map((metric) => [metric, 1])),
    },
    'AnimalStore-prod',
    Date.parse(sample.time),
  );
  return Buffer.byteLength(line) + logEventBytes;
}

/** Values of ordinary length for the variables of the access log. */
const accessLogValues: Readonly<Record<string, string>> = {
  requestId: sample.requestId,
  requestTime: '21/Nov/2026:08:30:00 +0000',
  'identity.sourceIp': '203.0.113.117',
  'identity.userAgent': 'curl/8.16.0',
  httpMethod: 'GET',
  resourcePath: '/pets/{petId}',
  protocol: 'HTTP/1.1',
  tlsVersion: 'TLSv1.3',
  responseLength: '1632',
  responseLatency: '21',
  'authorizer.keyId': sample.keyId,
  'authorizer.plan': sample.plan,
  'authorizer.status': '200',
  'authorizer.latency': '9',
  'authorizer.error': '-',
  'authorize.error': '-',
  'authorize.status': '200',
  'integration.status': '200',
  'integration.latency': '12',
  'integration.requestId': sample.requestId,
  integrationErrorMessage: '-',
  'error.responseType': '-',
  'waf.status': '-',
  wafResponseCode: '-',
  domainName: 'abcdef1234.execute-api.us-east-1.amazonaws.com',
  stage: 'v1',
  extendedRequestId: 'AbCdEfGhIjKlMnO=',
  xrayTraceId: '1-6920d3a8-5759e988bd862e3fe1be46a9',
};

function accessLine({ accessLogFormat }: StageFootprint, status: number): number {
  const line = accessLogFormat.replaceAll(/\$context\.([\w.]+)/g, (_variable, name: string) => {
    const value = name === 'status' ? String(status) : accessLogValues[name];
    if (value === undefined) throw new Error(`No value of ordinary length is known for $context.${name}`);
    return value;
  });
  return Buffer.byteLength(line) + logEventBytes;
}

function json(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
