/**
 * Serves a synthesized CDK stack on this machine. `cdk-offline/esbuild` builds changed functions; `cdk-offline/dynamodb`
 * starts the database alone; `cdk-offline/metering` has the metering of usage plans.
 */
export type { RequestRecord } from './http/request-record.ts';
export { FunctionLoadError } from './lambda/load-error.ts';
export { RestartNeeded } from './service/restart-needed.ts';
export { endWith } from './dev/lifetime.ts';
export { terminalLog, type TerminalLogOptions } from './dev/log.ts';
export { synthesize, type SynthesizeOptions } from './dev/synthesize.ts';
export { type BuildOutcome, type FunctionBuilds, watch, type WatchOptions } from './dev/watch.ts';
export type { AssemblySource, OfflineService, Pages, ServedFunction } from './service/types.ts';
export { serve, type ServeOptions } from './service/serve.ts';
