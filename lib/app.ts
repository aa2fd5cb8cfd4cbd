import type { App } from 'aws-cdk-lib';
import { AccountStack } from './account-stack.ts';
import { AnimalStoreStack } from './animal-store-stack.ts';
import { DeliveryStack } from './delivery/delivery-stack.ts';
import { addSecurityChecks, limitRoles } from './security-checks.ts';
import { ConfigurationError, readConfiguration } from './configuration/context.ts';
import type { StageSettings } from './configuration/settings.ts';
import type { StageName } from './configuration/stages.ts';

/**
 * Adds the stacks of readConfiguration. Without settings for account and Region, a stack belongs to those of the credentials.
 *
 * @throws ConfigurationError
 */
export function addStacks(app: App): void {
  const { name, stages, accountSettings, github, ...rest } = readConfiguration(app.node.getAllContext());
  // The local stack is never deployed.
  if (!stages.has('local')) addSecurityChecks(app);

  const environments = Map.groupBy(stages, ([, { account, region }]) => `${account} ${region}`);
  for (const group of environments.values()) {
    const [[first, { account, region }]] = group as [(typeof group)[number]];
    const env = { ...(account !== undefined && { account }), ...(region !== undefined && { region }) };
    /** A stack that an account and Region has once. Only its ID has to be unique in the app. */
    const once = (stackName: string) => {
      const id = environments.size === 1 ? stackName : `${stackName}-${first}`;
      return [app, id, { stackName, env }] as const;
    };
    // All copies of the service share it, so its name does not depend on `name`.
    const shared =
      accountSettings === 'managed' ? new AccountStack(...once('AnimalStore-account')) : undefined;
    const boundary = boundaryOf(group);
    if (shared !== undefined) limitRoles(shared, boundary);
    for (const [stage, settings] of group) {
      const stack = new AnimalStoreStack(app, `${name}-${stage}`, { ...rest, stage, settings, env });
      if (shared !== undefined) stack.addStackDependency(shared);
    }
    if (github !== undefined) {
      const [scope, id, props] = once(`${name}-delivery`);
      const names = group.map(([stage]) => stage);
      const delivery = new DeliveryStack(scope, id, { ...props, name, stages: names, ...github });
      limitRoles(delivery, boundary);
      // The workflows deploy only the stage's stack, so its dependency is deployed with this stack.
      if (shared !== undefined) delivery.addStackDependency(shared);
    }
  }
}

/**
 * The permissions boundary of the stacks that stages of one account and Region share.
 *
 * @throws ConfigurationError if the stages have different ones
 */
function boundaryOf(group: readonly (readonly [StageName, StageSettings])[]): string | undefined {
  const [boundary, ...others] = new Set(group.flatMap(([, settings]) => settings.permissionsBoundary ?? []));
  if (others.length === 0) return boundary;
  const names = group.map(([stage]) => stage).join(' and ');
  throw new ConfigurationError(
    `stages: ${names} share stacks, so they must have the same permissionsBoundary. If their accounts are different, set "account" of ` +
      'each in cdk.json.',
  );
}
