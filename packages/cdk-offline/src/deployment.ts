import { isDeepStrictEqual } from 'node:util';
import { readTables, type TableDefinition } from './dynamodb/tables.ts';
import { readRestApi, type RestApi } from './gateway/rest-api.ts';
import { type FunctionDefinition, Functions } from './lambda/definition.ts';
import { RestartNeeded } from './restart-needed.ts';
import { readAssembly } from './template/assembly.ts';
import { Stack } from './template/stack.ts';
import type { UsagePlan } from './usage-plans/store.ts';
import { readUsagePlans } from './usage-plans/template.ts';

/** The stack of one cloud assembly. */
export interface Deployment {
  readonly stack: Stack;
  readonly api: RestApi;
  readonly functions: readonly FunctionDefinition[];
  readonly plans: readonly UsagePlan[];
  readonly tables: readonly TableDefinition[];
  /** One line for each setting or resource of the template that has no effect here. */
  readonly notes: readonly string[];
}

/**
 * @param codeDirectory receives copies of the functions' code
 * @throws Error naming what is missing, malformed or not supported
 */
export async function readDeployment(
  assemblyDirectory: string,
  stackName: string,
  codeDirectory: string,
): Promise<Deployment> {
  const { template, assets } = await readAssembly(assemblyDirectory, stackName);
  const stack = new Stack(stackName, template);
  const functions = new Functions(stack, assets, codeDirectory);
  const notes: string[] = [];
  const api = await readRestApi(stack, functions, notes);
  const tables = readTables(stack, notes);
  notes.push(...functions.notes, ...ignoredTypes(stack));
  return { stack, api, functions: await functions.loaded(), plans: readUsagePlans(stack), tables, notes };
}

/** @throws RestartNeeded naming the change that needs a restart */
export function requireUpdatable(current: Deployment, next: Deployment): void {
  if (next.api.id !== current.api.id || next.api.stage !== current.api.stage) {
    throw new RestartNeeded('The API or its stage has another name. Restart to apply it.');
  }
  for (const table of next.tables) {
    const before = current.tables.find(({ input }) => input.TableName === table.input.TableName);
    if (before !== undefined && !isDeepStrictEqual(before, table)) {
      throw new RestartNeeded(
        `The table ${table.input.TableName} is defined differently. Restart without its data to apply it.`,
      );
    }
  }
}

/** Types that are supported, and types that have no effect on clients and functions. */
const servedTypes =
  /^AWS::(?:ApiGateway|CDK|CloudWatch|CodeDeploy|DynamoDB|IAM|Lambda|Logs|SNS|CloudFormation)::|^Custom::/;

function ignoredTypes(stack: Stack): string[] {
  const types = [...stack.types].filter((type) => !servedTypes.test(type));
  return types.length === 0 ? [] : [`Not supported by cdk-offline: ${types.join(', ')}`];
}
