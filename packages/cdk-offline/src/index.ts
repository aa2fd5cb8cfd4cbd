/**
 * Serves the REST API, authorizers, usage plans, functions and DynamoDB tables of a synthesized CDK stack on this
 * machine. `cdk-offline/dynamodb` starts the database alone; `cdk-offline/metering` holds the token bucket and the
 * quota of a usage plan as pure functions.
 */
export type { ManagementError, ManagementFailure, ManagementFaults } from './management/faults.ts';
export type { RequestRecord } from './gateway/gateway.ts';
export { FunctionLoadError } from './lambda/pool.ts';
export { RestartNeeded } from './deployment.ts';
export { isPortFree } from './ports.ts';
export { type OfflineService, serve, type ServedFunction, type ServeOptions } from './serve.ts';
