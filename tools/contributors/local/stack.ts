import { join } from 'node:path';
import { type OfflineService, serve, type ServeOptions, synthesize } from 'cdk-offline';

export const localStage = 'local';
export const localStackName = `AnimalStore-${localStage}`;
const project = join(import.meta.dirname, '..', '..', '..');

/** Writes the assembly of the local stage. The best-practice checks are for the other stages; they take half of the time. */
export function synthesizeLocal(assembly: string): Promise<void> {
  return synthesize(assembly, { project, context: { stage: localStage }, env: { CDK_VALIDATION: 'false' } });
}

function endProcess(error: Error): void {
  console.error(error.message);
  process.exit(1);
}

/**
 * Synthesizes the stack of the local stage and serves it: the template and bundles that `cdk deploy` would deploy.
 *
 * @throws Error that says what to do: the port is in use, no database is installed, or the app cannot be synthesized
 */
export function startLocalStack(options: Partial<Omit<ServeOptions, 'stack'>> = {}): Promise<OfflineService> {
  const assembly = synthesizeLocal;
  return serve({ onFailure: endProcess, assembly, ...options, stack: localStackName, hasTables: true });
}
