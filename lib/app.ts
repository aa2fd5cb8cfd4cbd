import type { App } from 'aws-cdk-lib';
import { AccountStack } from './account-stack.ts';
import { AnimalStoreStack } from './animal-store-stack.ts';
import { DeliveryStack } from './delivery/delivery-stack.ts';
import { addSecurityChecks } from './security-checks.ts';
import { readConfiguration } from './context.ts';

/**
 * Adds the stacks that the app's context asks for, see readConfiguration. Stacks name no account and no Region: they
 * go where the credentials of `cdk deploy` lead, and synthesize without any.
 *
 * @throws ConfigurationError
 */
export function addStacks(app: App): void {
  const { name, stages, accountSettings, github } = readConfiguration(app.node.getAllContext());
  // The stack of a laptop is the same, and nobody attacks it.
  if (!stages.has('local')) addSecurityChecks(app);

  // One for all copies: its name does not depend on theirs.
  const account = accountSettings === 'managed' ? new AccountStack(app, 'AnimalStore-account') : undefined;
  for (const [stage, settings] of stages) {
    const stack = new AnimalStoreStack(app, `${name}-${stage}`, { stage, settings });
    if (account !== undefined) stack.addStackDependency(account);
  }
  if (github !== undefined) {
    const delivery = new DeliveryStack(app, `${name}-delivery`, { name, stages: stages.keys(), ...github });
    // The workflows deploy a stage alone, so that whoever deploys this stack deploys what stages depend on.
    if (account !== undefined) delivery.addStackDependency(account);
  }
}
