import { pageSize } from '../../functions/pets/listing.ts';
import { type PetStatus, petStatuses } from '../../functions/pets/schema.ts';
import { readUnits, writeUnits } from '../cost/capacity.ts';
import { poisson, seeded } from './random.ts';

/**
 * How hot the index `byStatus` becomes: its partition key has three values, and its sort key, the id, only grows. So all
 * new animals of a status, and all first pages of it, meet in one place, the head of that status.
 */

/**
 * What one partition serves in a second; reads and writes are throttled independently:
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/throttling-key-range-limit-exceeded-mitigation.html
 */
export const partitionLimit = { reads: 3_000, writes: 1_000 } as const;

/**
 * How long a partition is too hot before DynamoDB splits it, in seconds. AWS says that it takes some minutes; the
 * figure is ours. https://aws.amazon.com/blogs/database/part-3-scaling-dynamodb-how-partitions-hot-keys-and-split-for-heat-impact-performance/
 */
export const splitAfter = 300;

/** What clients do. Shares of a whole are in [0, 1]. */
export interface Workload {
  readonly list: number;
  readonly listByStatus: number;
  readonly create: number;
  /** The share of listings that ask for a first page; the others are spread evenly over what is older. */
  readonly firstPages: number;
  /** Which status is asked for, and which one new animals have. */
  readonly asked: Readonly<Record<PetStatus, number>>;
  readonly created: Readonly<Record<PetStatus, number>>;
}

export interface Design {
  /** Partition keys a status is spread over: `available#0` and so on. */
  readonly shards: number;
  /** Indexes of the same content, of which each listing reads one. */
  readonly copies: number;
}

export interface Scenario {
  readonly workload: Workload;
  readonly requestsPerSecond: number;
  readonly design: Design;
  /** How long it runs, at least twice `splitAfter`. */
  readonly seconds: number;
  readonly seed: number;
  /** Bytes of an animal in the index. */
  readonly animalBytes: number;
}

export interface Heat {
  /** Units a second that the hottest head is asked for, once splits have taken away what they can. */
  readonly headReads: number;
  readonly headWrites: number;
  /** Shares in [0, 1]: of the time until the first splits, and of an equally long time at the end. */
  readonly listingsThrottled: { readonly atFirst: number; readonly inTheEnd: number };
  readonly creationsThrottled: { readonly atFirst: number; readonly inTheEnd: number };
}

/** Units that each query of a listing consumes, and that a listing of all statuses and a creation cost. */
export function unitsOf({ shards, copies }: Design, animalBytes: number) {
  const query = readUnits((pageSize.default + 1) * animalBytes);
  return {
    query,
    listing: query * shards * petStatuses.length,
    creation: writeUnits(animalBytes) * (1 + copies),
  };
}

/**
 * Requests a second from which a head is asked for more than it serves, on average, in the design with one shard and one
 * copy: listings until the first splits and after them, and creations.
 */
export function onset(workload: Workload, animalBytes: number) {
  const status = hottest(workload);
  const { query } = unitsOf({ shards: 1, copies: 1 }, animalBytes);
  const reads = (workload.list + workload.listByStatus * workload.asked[status]) * query;
  const writes = workload.create * workload.created[status] * writeUnits(animalBytes);
  return {
    listings: partitionLimit.reads / reads,
    listingsAfterSplits: partitionLimit.reads / (reads * workload.firstPages),
    creations: partitionLimit.writes / writes,
  };
}

/** The partitions that a status has in one copy of the index. All of its shards are alike. */
class Collection {
  readonly status: PetStatus;
  /** Partitions that hold what is older than the head; 0 while one partition holds everything. */
  older = 0;
  #headHot = 0;
  #olderHot = 0;

  constructor(status: PetStatus) {
    this.status = status;
  }

  /**
   * Split for heat. The first split takes the older animals away from the head, further ones halve those. The head
   * cannot be split usefully: wherever it is cut, all that is new lands behind the cut. AWS says so too: no split where it
   * is "determined to not be beneficial, such as when writing an ever-increasing sort key"
   * (https://aws.amazon.com/blogs/database/part-3-scaling-dynamodb-how-partitions-hot-keys-and-split-for-heat-impact-performance/).
   */
  endSecond(headIsHot: boolean, olderIsHot: boolean): void {
    this.#headHot = headIsHot ? this.#headHot + 1 : 0;
    this.#olderHot = olderIsHot ? this.#olderHot + 1 : 0;
    if ((this.older === 0 ? this.#headHot : this.#olderHot) < splitAfter) return;
    this.older = this.older === 0 ? 1 : this.older * 2;
    this.#headHot = 0;
    this.#olderHot = 0;
  }
}

class Tally {
  sent = 0;
  throttled = 0;

  add(sent: number, share: number): void {
    this.sent += sent;
    this.throttled += sent * share;
  }

  get share(): number {
    return this.sent === 0 ? 0 : this.throttled / this.sent;
  }
}

/** Lets clients call for a while, second by second, and tells what became of it. */
export function simulate(scenario: Scenario): Heat {
  const { workload, requestsPerSecond, design, seconds, seed, animalBytes } = scenario;
  const { shards, copies } = design;
  if (seconds < 2 * splitAfter) throw new RangeError(`At least ${2 * splitAfter} seconds are needed`);
  const random = seeded(seed);
  const perQuery = unitsOf(design, animalBytes).query;
  const perWrite = writeUnits(animalBytes);
  const draw = (share: number): number => poisson(requestsPerSecond * share, random);

  const index = Array.from({ length: copies }, () => petStatuses.map((status) => new Collection(status)));
  const listings = { atFirst: new Tally(), inTheEnd: new Tally() };
  const creations = { atFirst: new Tally(), inTheEnd: new Tally() };
  const watched = hottest(workload);
  let [headReads, headWrites] = [0, 0];

  for (let second = 0; second < seconds; second += 1) {
    const phase = second < splitAfter ? 'atFirst' : second >= seconds - splitAfter ? 'inTheEnd' : undefined;

    // Each creation goes to one shard, and from there to every copy.
    const hottestShard = new Map<PetStatus, number>();
    for (const status of petStatuses) {
      const perShard = Array.from({ length: shards }, () =>
        draw((workload.create * workload.created[status]) / shards),
      );
      hottestShard.set(status, Math.max(...perShard) * perWrite);
      if (phase) {
        for (const count of perShard)
          creations[phase].add(count, throttledShare(count * perWrite, partitionLimit.writes));
      }
      if (phase === 'inTheEnd' && status === watched) headWrites += (sum(perShard) * perWrite) / shards;
    }

    // Each listing reads one copy, and there every shard of the statuses that it asks for.
    for (const copy of index) {
      const pages = (share: number) => ({
        first: draw((share * workload.firstPages) / copies),
        older: draw((share * (1 - workload.firstPages)) / copies),
      });
      const ofAll = pages(workload.list);
      const passOfAll = { first: 1, older: 1 };
      for (const collection of copy) {
        const { status, older: olderPartitions } = collection;
        const own = pages(workload.listByStatus * workload.asked[status]);
        const first = (ofAll.first + own.first) * perQuery;
        const older = (ofAll.older + own.older) * perQuery;
        const head = olderPartitions === 0 ? first + older : first;
        const headShare = throttledShare(head, partitionLimit.reads);
        const olderShare =
          olderPartitions === 0 ? headShare : throttledShare(older / olderPartitions, partitionLimit.reads);
        const pass = { first: (1 - headShare) ** shards, older: (1 - olderShare) ** shards };
        passOfAll.first *= pass.first;
        passOfAll.older *= pass.older;
        if (phase) {
          listings[phase].add(own.first, 1 - pass.first);
          listings[phase].add(own.older, 1 - pass.older);
        }
        if (phase === 'inTheEnd' && status === watched) headReads += head / copies;
        const writesAreHot = (hottestShard.get(status) ?? 0) > partitionLimit.writes;
        collection.endSecond(headShare > 0 || writesAreHot, olderShare > 0);
      }
      if (phase) {
        listings[phase].add(ofAll.first, 1 - passOfAll.first);
        listings[phase].add(ofAll.older, 1 - passOfAll.older);
      }
    }
  }
  return {
    headReads: headReads / splitAfter,
    headWrites: headWrites / splitAfter,
    listingsThrottled: { atFirst: listings.atFirst.share, inTheEnd: listings.inTheEnd.share },
    creationsThrottled: { atFirst: creations.atFirst.share, inTheEnd: creations.inTheEnd.share },
  };
}

/** What goes beyond the limit in this second is throttled; who of those that call it hits is chance. */
function throttledShare(asked: number, limit: number): number {
  return asked <= limit ? 0 : 1 - limit / asked;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** The status that most listings and creations have. */
function hottest({ asked }: Workload): PetStatus {
  return petStatuses.reduce((most, status) => (asked[status] > asked[most] ? status : most));
}
