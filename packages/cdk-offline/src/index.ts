/**
 * Serves a synthesized CDK stack on this machine. `cdk-offline/dynamodb` starts the database alone;
 * `cdk-offline/metering` has the metering of usage plans.
 */
export type { ManagementError, ManagementFailure, ManagementFaults } from './management/faults.ts';
export type { RequestRecord } from './gateway/gateway.ts';
export { FunctionLoadError } from './lambda/pool.ts';
export { RestartNeeded } from './deployment.ts';
export { endWith } from './dev/lifetime.ts';
export { terminalLog, type TerminalLogOptions } from './dev/log.ts';
export { synthesize, type SynthesizeOptions } from './dev/synthesize.ts';
export { watch, type WatchOptions } from './dev/watch.ts';
export type { OfflineService, ServedFunction } from './offline-service.ts';
export { serve, type ServeOptions } from './serve.ts';
