import type { Call } from 'dynamodb-interleavings';
import {
  type Network,
  Random,
  type Stranger,
  type World as SimulatedWorld,
} from 'dynamodb-interleavings/simulation';
import { type Conditions, simulatedFaults } from './aims.ts';
import type { Writes } from './writes.ts';

/** What answers instead of DynamoDB: what cannot be read, what is empty, and what looks like an answer. */
export const strangers: readonly Stranger[] = [
  { statusCode: 200, text: '<html></html>' },
  { statusCode: 200, text: '' },
  { statusCode: 503, text: '<html></html>' },
  { statusCode: 400, text: '{"__type":"SomethingNew"}' },
  { statusCode: 200, text: '{"Item":' },
  { statusCode: 200, text: 'null' },
  { statusCode: 200, text: ' []' },
  { statusCode: 200, text: '"{}"' },
  { statusCode: 204, text: '' },
  { statusCode: 302, text: '<html></html>' },
  { statusCode: 400, text: '<html></html>' },
  { statusCode: 400, text: '{"message":"No."}' },
  { statusCode: 301, text: '{"__type":"ResourceNotFoundException"}' },
  { statusCode: 503, text: '{"message":"No."}' },
];

/**
 * Decides when a call arrives, what it meets, and when its answer arrives. It depends on nothing but the seed and the call's name, so that
 * it stays the same if other requests are left out.
 * @param met names of the calls that meet a fault
 * @param only those that may
 */
export function arrangement(
  seed: number,
  world: SimulatedWorld,
  writes: Writes,
  { kinds, probability, table, lag, hot, fit }: Conditions,
  met: Set<string>,
  only?: ReadonlySet<string>,
) {
  return (call: Call, network: Network): void => {
    const random = Random.of(seed, `call ${call.name}`);
    call.variant = random.next();
    const isFaulty = kinds.length > 0 && (table === undefined || table === call.table);
    const [isSlow, hasFault] = [isFaulty && random.chance(0.02), isFaulty && random.chance(probability)];
    const fault = random.pick(simulatedFaults.filter((each) => kinds.length === 0 || kinds.includes(each)));
    const isCalm = only?.has(call.name) === false;
    const slow = isSlow && !isCalm;
    if (isSlow || hasFault) met.add(call.name);
    const delay = () => (slow ? 100 + random.below(600) : 1 + random.below(random.pick([3, 20])));
    call.latency = [delay(), delay()];
    call.fate = hasFault && !isCalm ? fault : 'answered';
    const asOf = () => (random.chance(0.5) ? world.now - random.below(lag + 1) : Infinity);
    const [there, back] = call.latency;
    const arriving = random.below(there);
    world.after(arriving, () => {
      if (call.fate === 'answered' && writes.isHot(call, hot, world.now)) call.fate = 'throttled';
      // A call that meets a transaction is refused at once.
      const conflict = call.fate === 'answered' ? writes.refusalOf(call) : undefined;
      if (conflict) call.fate = 'conflict';
      const refused = conflict && network.meet(call, {}, conflict);
      const end = call.fate === 'answered' ? writes.begin(call) : () => {};
      world.after(there - arriving, () => {
        end();
        const respond =
          refused ??
          network.meet(
            call,
            {
              asOf,
              fit: 1 + random.below(fit === Infinity ? 1 : fit) + (fit === Infinity ? Infinity : 0),
            },
            writes.refusalOf(call),
          );
        world.after(back, respond);
      });
    });
  };
}
