/** What a simulation of your own is made of: virtual time, a network, tables in memory, and bundles that run on them. */
export { Bundle, type BundleOptions, type Host } from './bundle.ts';
export { Network, type RequestHandler } from './network.ts';
export { cancelled, Refusal, Unsupported } from './tables/errors.ts';
export { type Reading, Tables } from './tables/tables.ts';
export { Random, settled, type Timer, World } from './world.ts';
