/**
 * Serves a synthesized CDK stack on this machine. `cdk-offline/esbuild` builds changed functions; `cdk-offline/dynamodb`
 * starts the database alone; `cdk-offline/metering` has the metering of usage plans.
 */
export type { RequestRecord } from './request-record.ts';
export { FunctionLoadError } from './lambda/load-error.ts';
export { RestartNeeded } from './restart-needed.ts';
export { endWith } from './dev/lifetime.ts';
export { terminalLog, type TerminalLogOptions } from './dev/log.ts';
export { synthesize, type SynthesizeOptions } from './dev/synthesize.ts';
export { type BuildOutcome, type FunctionBuilds, watch, type WatchOptions } from './dev/watch.ts';
export type { AssemblySource, OfflineService, Pages, ServedFunction } from './offline-service.ts';
export { serve, type ServeOptions } from './serve.ts';
