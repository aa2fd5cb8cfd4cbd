export type { TableDefinition } from './tables/schema.ts';
export type { Operation } from './tables/input.ts';
export type { Version } from './tables/table.ts';
export type { Tables } from './tables/tables.ts';
export type { Item, Value } from './tables/values.ts';
export { version } from './version.ts';
export { counter, lock, once, sum, unique } from './checks.ts';
export { explore, verify } from './explore.ts';
export type {
  Environment,
  Failure,
  History,
  Level,
  Options,
  Outcome,
  Report,
  Request,
  Simulation,
} from './options.ts';
export { textOf } from './story.ts';
export { type Fate, type Fault, faults } from './faults.ts';
export type { Call } from './call.ts';
export { refusal, type Service, type ServiceAnswer, type ServiceRequest } from './services.ts';
