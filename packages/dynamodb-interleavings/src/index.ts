export { cancelled, Refusal, Unsupported } from './tables/errors.ts';
export type { TableDefinition } from './tables/schema.ts';
export { type Operation, type Reading, Tables, type Version } from './tables/tables.ts';
export type { Item, Value } from './tables/values.ts';
export { version } from './version.ts';
export {
  type Environment,
  explore,
  type Failure,
  type History,
  type Options,
  type Outcome,
  type Report,
  type Request,
  type Simulation,
  textOf,
  verify,
} from './explore.ts';
export { type Call, type Fate, type Fault, faults, Network, type RequestHandler } from './network.ts';
export { atTheEnd, Random, settled, type Timer, World } from './world.ts';
export { Bundle, type BundleOptions, type Host } from './bundle.ts';
