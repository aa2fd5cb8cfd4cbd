import { isDeepStrictEqual } from 'node:util';
import { readTables, type TableDefinition, tableNamesInPolicies } from '../dynamodb/tables.ts';
import { readRestApi, type RestApi } from '../gateway/rest-api.ts';
import { type FunctionDefinition, Functions } from '../lambda/function-definition.ts';
import { RestartNeeded } from './restart-needed.ts';
import { readAssembly } from '../template/assembly.ts';
import type { Stack } from '../template/stack.ts';
import { StackWithImports } from '../template/stack-with-imports.ts';
import type { UsagePlan } from '../usage-plans/store.ts';
import { readUsagePlans } from '../usage-plans/from-template.ts';

/** The stack of one cloud assembly. */
export interface StackDefinition {
  readonly stack: Stack;
  /** Those with parts of the API, keys and usage plans. */
  readonly stacksOfApi: readonly Stack[];
  readonly api: RestApi;
  readonly functions: readonly FunctionDefinition[];
  readonly plans: readonly UsagePlan[];
  readonly tables: readonly TableDefinition[];
  /** Also for tables that no stack makes. */
  readonly needsDatabase: boolean;
  /** One line for each setting or resource of the template that has no effect here. */
  readonly notes: readonly string[];
}

export interface StackDefinitionOptions {
  /** Replace the defaults of the template's parameters. */
  readonly parameters?: Readonly<Record<string, string>> | undefined;
  /** The logical ID or name of the API, for a stack with several. */
  readonly api?: string | undefined;
  /** Rejects a stack with routes that are not supported. */
  readonly strict?: boolean | undefined;
}

/**
 * @param stackId the stack's artifact ID, its path as `cdk ls` shows it, or its name; the only one with a REST API when absent
 * @param codeDirectory receives copies of the functions' code
 * @throws Error naming what is missing, malformed or not supported
 */
export async function readStackDefinition(
  assemblyDirectory: string,
  stackId: string | undefined,
  codeDirectory: string,
  { api: apiName, parameters = {}, strict = false }: StackDefinitionOptions = {},
): Promise<StackDefinition> {
  const assembly = await readAssembly(assemblyDirectory, stackId);
  const stacks = new StackWithImports(assembly.stack, assembly.siblings, parameters, assembly.nested);
  const functions = new Functions(stacks, assembly.assets, codeDirectory);
  const notes: string[] = [];
  const api = await readRestApi(stacks, apiName, functions, notes);
  if (strict && api.unsupported.length > 0) {
    throw new Error(`Not started, because --strict is set:\n${api.unsupported.join('\n')}`);
  }
  const definitions = await functions.loaded();
  const named = new Set(stacks.involved.flatMap((stack) => tableNamesInPolicies(stack)));
  stacks.involveTables(named);
  const { involved, ofApi } = stacks;
  const plans = ofApi.flatMap((stack) => readUsagePlans(stack, notes));
  const tables = involved.flatMap((stack) => readTables(stack, notes));
  const missing = [...named].filter((name) => !tables.some(({ input }) => input.TableName === name));
  for (const name of missing) {
    notes.push(
      `The table ${name} is made by no stack of the app. Create it at the address of the service, or calls of it fail.`,
    );
  }
  notes.push(...api.unsupported, ...functions.notes, ...involved.flatMap((stack) => ignoredResources(stack)));
  const needsDatabase = tables.length + missing.length > 0;
  return {
    stack: stacks.main,
    stacksOfApi: ofApi,
    needsDatabase,
    api,
    functions: definitions,
    plans,
    tables,
    notes,
  };
}

/** @throws RestartNeeded naming the changes that need a restart */
export function requireUpdatable(current: StackDefinition, next: StackDefinition): void {
  const isRenamed = next.api.id !== current.api.id || next.api.stage !== current.api.stage;
  const redefined = next.tables.filter((table) => {
    const before = current.tables.find(({ input }) => input.TableName === table.input.TableName);
    return before !== undefined && !isDeepStrictEqual(before, table);
  });
  const changes = [
    ...(isRenamed ? ['The API or its stage has another name. Restart to apply it.'] : []),
    ...redefined.map(
      ({ input }) =>
        `The table ${input.TableName} is defined differently. Restart without its data to apply it.`,
    ),
  ];
  if (changes.length > 0) throw new RestartNeeded(changes.join('\n'));
}

/** Types that are served or named elsewhere, and those without an effect on clients and functions. */
const quietTypes =
  /^AWS::(?:ApiGateway::(?!DomainName)\w+|ApplicationAutoScaling::.*|CDK::Metadata|CloudWatch::.*|CodeDeploy::.*|DynamoDB::(?:Global)?Table|IAM::.*|KMS::.*|Lambda::(?:Alias|Function|LayerVersion|Permission|Version)|Logs::.*)$/;

/** One line for each other type. */
function ignoredResources(stack: Stack): string[] {
  return [...stack.types]
    .map(([type, logicalIds]) => [type, logicalIds.filter((id) => stack.nested(id) === undefined)] as const)
    .filter(([type, logicalIds]) => logicalIds.length > 0 && !quietTypes.test(type))
    .map(([type, logicalIds]) => `${type} is not supported by cdk-offline: ${logicalIds.join(', ')}`);
}
