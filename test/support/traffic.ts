import type { ConsumedCapacity } from '@aws-sdk/client-dynamodb';
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod/mini';

/** A command that was sent to DynamoDB. */
export interface SentCommand {
  /** The name of the command, such as `QueryCommand`. */
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** What it consumed; `undefined` when it failed. */
  capacity?: ConsumedCapacity | undefined;
  /** What a transaction consumed, for each of its tables. */
  capacities?: readonly ConsumedCapacity[];
}

const commandInput = z.record(z.string(), z.unknown());
const capacity = z.object({
  ConsumedCapacity: z.optional(z.custom<ConsumedCapacity | readonly ConsumedCapacity[]>()),
});

/** Notes every command that the client sends from now on, and has DynamoDB say what each consumes. */
export function noteCommands(client: DynamoDBDocumentClient): SentCommand[] {
  const traffic: SentCommand[] = [];
  client.middlewareStack.add(
    (next, context) => async (args) => {
      const input = z.parse(commandInput, args.input);
      const sent: SentCommand = { name: String(context['commandName']), input };
      traffic.push(sent);
      const answer = await next({
        ...args,
        input: Object.assign(args.input, { ReturnConsumedCapacity: 'INDEXES' }),
      });
      const { ConsumedCapacity: consumed } = z.parse(capacity, answer.output);
      if (consumed !== undefined && 'length' in consumed) sent.capacities = consumed;
      else sent.capacity = consumed;
      return answer;
    },
    { step: 'initialize', name: 'noteCommands' },
  );
  return traffic;
}

/** The capacity units that the commands consumed, table and indexes together. */
export function unitsOf(traffic: readonly SentCommand[]): number {
  return traffic
    .flatMap(({ capacity: consumed, capacities = [] }) => [...capacities, ...(consumed ? [consumed] : [])])
    .reduce((sum, { CapacityUnits: units = 0 }) => sum + units, 0);
}
