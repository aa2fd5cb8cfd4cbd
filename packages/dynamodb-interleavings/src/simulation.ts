/**
 * What a simulation of your own is made of: virtual time, a network, tables in memory, bundles that run on them, and the search
 * through all schedules.
 */
export { Bundle, type BundleOptions, type Host } from './bundle.ts';
export { Footprint } from './footprint.ts';
export { Network, type RequestHandler, type Stranger } from './network.ts';
export { type Choice, type Effects, Search } from './reduction.ts';
export { cancelled, Refusal, Unsupported } from './tables/errors.ts';
export type { Reading } from './tables/table.ts';
export { Tables } from './tables/tables.ts';
export { Random, settled, type Timer, World } from './world.ts';
