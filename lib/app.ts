import type { App } from 'aws-cdk-lib';
import { AnimalStoreStack } from './animal-store-stack.ts';
import { readConfiguration } from './stages.ts';

/**
 * Adds a stack to the app for each stage that its context asks for, see readConfiguration. Stacks name no account and
 * no Region: they go where the credentials of `cdk deploy` lead, and synthesize without any.
 *
 * @throws ConfigurationError
 */
export function addStacks(app: App): void {
  const { name, stages } = readConfiguration((key) => app.node.tryGetContext(key));
  for (const [stage, settings] of stages) {
    new AnimalStoreStack(app, `${name}-${stage}`, { stage, settings });
  }
}
