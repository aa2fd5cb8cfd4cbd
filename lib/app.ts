import type { App } from 'aws-cdk-lib';
import { AccountStack } from './account-stack.ts';
import { AnimalStoreStack } from './animal-store-stack.ts';
import { DeliveryStack } from './delivery/delivery-stack.ts';
import { addSecurityChecks } from './security-checks.ts';
import { readConfiguration } from './context.ts';

/**
 * Adds the stacks that the app's context defines, see readConfiguration. Stacks name no account and no Region: they are
 * deployed where the credentials of `cdk deploy` point, and synthesize without any.
 *
 * @throws ConfigurationError
 */
export function addStacks(app: App): void {
  const { name, stages, accountSettings, github } = readConfiguration(app.node.getAllContext());
  // The local stack is the same, and is not deployed.
  if (!stages.has('local')) addSecurityChecks(app);

  // One for all copies: its name does not depend on `name`.
  const account = accountSettings === 'managed' ? new AccountStack(app, 'AnimalStore-account') : undefined;
  for (const [stage, settings] of stages) {
    const stack = new AnimalStoreStack(app, `${name}-${stage}`, { stage, settings });
    if (account !== undefined) stack.addStackDependency(account);
  }
  if (github !== undefined) {
    const delivery = new DeliveryStack(app, `${name}-delivery`, { name, stages: stages.keys(), ...github });
    // The workflows deploy only the stage's stack, so what it depends on is deployed with this one.
    if (account !== undefined) delivery.addStackDependency(account);
  }
}
