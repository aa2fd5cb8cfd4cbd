import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import * as apiGateway from '@aws-sdk/client-api-gateway';

// The permissions that the tools of operators need: those of the calls in their code.

const folder = join(import.meta.dirname, '..', '..', 'operators');

type Permissions = Readonly<Record<string, readonly [action: string, on: string]>>;

const stack: Permissions = { DescribeStacks: ['cloudformation:DescribeStacks', 'the stack'] };

/** The calls of each tool, without those of API Gateway. */
const permissionsOf: Readonly<Record<string, Permissions>> = {
  keys: {
    ...stack,
    Query: ['dynamodb:Query', 'the indexes of ApiKeys'],
    Scan: ['dynamodb:Scan', 'ApiKeys'],
    Get: ['dynamodb:GetItem', 'ApiKeys'],
    BatchGet: ['dynamodb:BatchGetItem', 'RateLimits'],
    // A transaction of puts needs the permission to put.
    TransactWrite: ['dynamodb:PutItem', 'ApiKeys, for changes'],
    Update: ['dynamodb:UpdateItem', 'RateLimits, for changes'],
  },
  pets: {
    ...stack,
    Query: ['dynamodb:Query', 'the index of Pets'],
    Get: ['dynamodb:GetItem', 'Pets'],
    Scan: ['dynamodb:Scan', 'Pets, or a restored table'],
    DescribeTable: ['dynamodb:DescribeTable', 'Pets, for the progress on a terminal, or a restored table'],
    Put: ['dynamodb:PutItem', 'Pets, for changes'],
    Update: ['dynamodb:UpdateItem', 'Pets, for changes'],
    Delete: ['dynamodb:DeleteItem', 'Pets, for changes'],
  },
};
/** AWS asks for no permission. */
const free: ReadonlySet<string> = new Set(['GetCallerIdentity']);

/** The texts of a file and of all that it loads of this project, by their paths. */
function textsOf(file: string, found = new Map<string, string>()): ReadonlyMap<string, string> {
  if (found.has(file)) return found;
  const text = readFileSync(file, 'utf8');
  found.set(file, text);
  for (const [, path] of text.matchAll(/^(?:import|export|\}) (?!type ).*'(\.[^']+\.ts)';$/gm))
    textsOf(join(dirname(file), path!), found);
  return found;
}

/** The calls of AWS in the code of a tool, such as `GetUsagePlanKey`. */
function callsOf(tool: string): readonly string[] {
  const text = [...textsOf(join(folder, tool, 'cli.ts')).values()].join('\n');
  const matches = text.matchAll(/\b(?:new ([A-Z]\w+)Command|paginate([A-Z]\w+))\(/g);
  return [...new Set(Array.from(matches, ([, command, pages]) => command ?? pages!))];
}

const commands: Readonly<Record<string, unknown>> = apiGateway;
const isGateway = (call: string): boolean => `${call}Command` in commands;

/** API Gateway names the permission for a call by its method and path. */
function gatewayRequest(call: string): { readonly method: string; readonly path: string } {
  const Command = commands[`${call}Command`] as new (input: object) => { readonly schema: unknown };
  const [, , , { http }] = new Command({}).schema as [unknown, unknown, unknown, { http: [string, string] }];
  const [method, path] = http;
  return { method, path: path.replaceAll(/\{\w+\}/g, '*') };
}

function rowsOf(tool: string): (readonly string[])[] {
  const calls = callsOf(tool);
  const gatewayCalls = calls.filter(isGateway);
  const others = calls.filter((call) => !isGateway(call) && !free.has(call));
  const known = permissionsOf[tool]!;
  const wrong = [...new Set(others).symmetricDifference(new Set(Object.keys(known)))];
  if (wrong.length > 0)
    throw new Error(
      `permissionsOf.${tool} in tools/contributors/openapi/permissions.ts is not what the tool calls: ${wrong.join(', ')}.`,
    );
  const byMethod = Map.groupBy(gatewayCalls.toSorted().map(gatewayRequest), ({ method }) => method);
  return [
    ...Object.values(known).map(([action, on]) => [tool, `\`${action}\``, on]),
    ...Array.from(byMethod, ([method, requests]) => {
      const paths = new Set(requests.map(({ path }) => `\`${path}\``));
      return [tool, `\`apigateway:${method}\``, [...paths].toSorted().join(', ')];
    }),
  ];
}

/** @throws Error if a tool makes calls that `permissionsOf` does not have, or no longer makes one */
export function permissionsOfTools() {
  return { head: ['Tool', 'Action', 'On'], rows: Object.keys(permissionsOf).flatMap(rowsOf) };
}
