import { randomUUID } from 'node:crypto';
import {
  BatchGetItemCommand,
  BatchWriteItemCommand,
  type ConditionalCheckFailedException,
  CreateTableCommand,
  DeleteItemCommand,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  ScanCommand,
  type TransactionCanceledException,
  TransactGetItemsCommand,
  TransactWriteItemsCommand,
  UpdateItemCommand,
  type UpdateItemCommandInput,
} from '@aws-sdk/client-dynamodb';
import type { Operation, Tables } from 'dynamodb-interleavings';
import { Refusal } from 'dynamodb-interleavings/simulation';
import { expect } from 'vitest';
import { tableNames } from '../../functions/tables.ts';
import { titleCase } from '../../lib/title-case.ts';
import { newClient } from '../support/create-tables.ts';
import { tableDefinition } from '../support/table-shapes.ts';

const commands = {
  BatchGetItem: BatchGetItemCommand,
  BatchWriteItem: BatchWriteItemCommand,
  DeleteItem: DeleteItemCommand,
  GetItem: GetItemCommand,
  PutItem: PutItemCommand,
  Query: QueryCommand,
  Scan: ScanCommand,
  TransactGetItems: TransactGetItemsCommand,
  TransactWriteItems: TransactWriteItemsCommand,
  UpdateItem: UpdateItemCommand,
} satisfies Record<Operation, unknown>;

interface Got {
  readonly operation: Operation;
  readonly input: object;
  /** With `type` if it is an error. */
  readonly answer: object;
}

/** What tables in memory are asked from now on, and what they answer. */
export class Recording {
  readonly calls: Got[] = [];

  constructor(tables: Tables) {
    const call = tables.call.bind(tables);
    tables.call = (name, input, reading) => {
      const operation = name as Operation;
      try {
        const answer = call(operation, input, reading);
        // A page that a test has made short is another one of an engine, and so is each page of a scan.
        if (reading?.fit === undefined && !(operation === 'Scan' && isPage(input, answer)))
          this.calls.push({ operation, input, answer });
        return answer;
      } catch (error) {
        if (error instanceof Refusal)
          this.calls.push({ operation, input, answer: { type: error.type, ...error.members } });
        throw error;
      }
    };
  }
}

function isPage(input: object, answer: object): boolean {
  return 'ExclusiveStartKey' in input || 'LastEvaluatedKey' in answer;
}

/** Asks a real engine the same, one after the other: it has to answer what the tables in memory have answered. */
export async function replay({ calls }: Recording): Promise<void> {
  const run = randomUUID();
  const client = newClient();
  const asked = JSON.stringify(calls);
  for (const name of tableNames.filter((each) => asked.includes(`"${titleCase(each)}"`))) {
    const { TimeToLiveSpecification: _, ...definition } = tableDefinition(name, `${titleCase(name)}-${run}`);
    await client.send(new CreateTableCommand({ ...definition, BillingMode: 'PAY_PER_REQUEST' }));
  }
  const names = new RegExp(`"(${tableNames.map((name) => titleCase(name)).join('|')})"`, 'g');
  for (const { operation, input, answer } of calls) {
    const Command = commands[operation] as typeof UpdateItemCommand;
    const renamed = JSON.stringify(input).replaceAll(names, `"$1-${run}"`);
    const told = await client
      .send(new Command(JSON.parse(renamed) as UpdateItemCommandInput))
      .then((output): object => ({ ...output, $metadata: undefined }), membersOf);
    expect(comparable(told, operation, run), `${operation} ${JSON.stringify(input)}`).toEqual(
      comparable(answer, operation),
    );
  }
}

type Failure = ConditionalCheckFailedException & Pick<TransactionCanceledException, 'CancellationReasons'>;

function membersOf({ name: type, Item, CancellationReasons }: Failure) {
  return { type, Item, CancellationReasons };
}

/** Without messages, whose words are not the same, and what is undefined. A scan has no order. */
function comparable(answer: object, operation: Operation, run = 'none'): unknown {
  const text = JSON.stringify(answer, (name, value: unknown) => (name === 'Message' ? undefined : value));
  const parsed = JSON.parse(text.replaceAll(`-${run}"`, '"')) as { readonly Items?: readonly object[] };
  return operation === 'Scan' && parsed.Items ? { ...parsed, Items: new Set(parsed.Items) } : parsed;
}
