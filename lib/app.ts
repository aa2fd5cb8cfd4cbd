import type { App } from 'aws-cdk-lib';
import { AccountStack } from './account-stack.ts';
import { AnimalStoreStack } from './animal-store-stack.ts';
import { DeliveryStack } from './delivery/delivery-stack.ts';
import { addSecurityChecks } from './security-checks.ts';
import { readConfiguration } from './configuration/context.ts';

/** Adds the stacks of readConfiguration, without account and Region: those of the credentials. @throws ConfigurationError */
export function addStacks(app: App): void {
  const { name, stages, repository, accountSettings, github } = readConfiguration(app.node.getAllContext());
  // The local stack is never deployed.
  if (!stages.has('local')) addSecurityChecks(app);

  // All copies of the service share it, so its name does not depend on `name`.
  const account = accountSettings === 'managed' ? new AccountStack(app, 'AnimalStore-account') : undefined;
  for (const [stage, settings] of stages) {
    const stack = new AnimalStoreStack(app, `${name}-${stage}`, { stage, settings, repository });
    if (account !== undefined) stack.addStackDependency(account);
  }
  if (github !== undefined) {
    const delivery = new DeliveryStack(app, `${name}-delivery`, { name, stages: stages.keys(), ...github });
    // The workflows deploy only the stage's stack, so its dependency is deployed with this stack.
    if (account !== undefined) delivery.addStackDependency(account);
  }
}
