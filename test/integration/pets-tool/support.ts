import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { PutCommand, ScanCommand } from '@aws-sdk/lib-dynamodb';
import { expect, inject, onTestFinished, vi } from 'vitest';
import type { PetTable } from '../../../functions/pets/store.ts';
import { documentClient } from '../../../tools/operators/command-line/stack.ts';
import { runPets } from '../../../tools/operators/pets/cli.ts';
import { type Item, toStored } from '../../../tools/operators/pets/items.ts';
import { forwardTo, type Interception } from '../../support/forwarder.ts';
import { awsVariables } from '../../support/variables.ts';
import { createTable } from '../../support/create-tables.ts';
import { type Run, type RunOptions, runInProcess, startInProcess } from '../../support/run-in-process.ts';

/** What the tool finds at AWS: a stack, and DynamoDB with a table of its own for each test. */
export interface Store {
  readonly table: PetTable;
  readonly folder: string;
  readonly run: (args: readonly string[], options?: RunOptions) => Promise<Run>;
  /** Runs the tool until it has sent so many writes, where it ends as if it was killed. Returns what it has said by then. */
  readonly crash: (args: readonly string[], writes: number) => Promise<string>;
  readonly runInProd: Store['run'];
  /** Runs the tool for its JSON result. */
  readonly json: <T>(args: readonly string[], options?: RunOptions) => Promise<T>;
}

const identity =
  '<GetCallerIdentityResponse><GetCallerIdentityResult><Arn>arn:aws:iam::123456789012:user/ada</Arn></GetCallerIdentityResult></GetCallerIdentityResponse>';

function stackWith(tableName: string): string {
  const output = `<OutputKey>PetsTableName</OutputKey><OutputValue>${tableName}</OutputValue>`;
  const stack = `<StackName>s</StackName><CreationTime>2026-07-01T00:00:00Z</CreationTime><StackStatus>CREATE_COMPLETE</StackStatus><Outputs><member>${output}</member></Outputs>`;
  return `<DescribeStacksResponse><DescribeStacksResult><Stacks><member>${stack}</member></Stacks></DescribeStacksResult></DescribeStacksResponse>`;
}

const credentials = { accessKeyId: 'local', secretAccessKey: 'local', sessionToken: 'local' };

/**
 * @param network what happens to calls of DynamoDB, milliseconds of AWS's clock, and whether AWS says who calls
 * @param tableOfService the table of a running service, for `runInProd`
 */
export async function newStore(
  {
    awsTime,
    namesCaller = true,
    ...network
  }: Pick<Interception, 'answer' | 'losesAnswer'> & { awsTime?: number; namesCaller?: boolean } = {},
  tableOfService?: PetTable,
): Promise<Store> {
  const client = documentClient(
    new DynamoDBClient({ endpoint: inject('dynamodbEndpoint'), region: 'us-east-1', credentials }),
  );
  const table = tableOfService ?? (await createTable('pets', client));
  const isDynamoDb = ({ headers }: IncomingMessage) => headers['x-amz-target'] !== undefined;
  const interception: Interception = {
    answer: (incoming, outgoing) => {
      if (isDynamoDb(incoming)) return network.answer?.(incoming, outgoing) ?? false;
      if (awsTime !== undefined) outgoing.setHeader('Date', new Date(awsTime).toUTCString());
      const isSts = incoming.headers.authorization?.includes('/sts/') === true;
      if (isSts && !namesCaller) outgoing.statusCode = 403;
      outgoing.end(isSts ? identity : stackWith(table.tableName));
      return true;
    },
    losesAnswer: (incoming) => isDynamoDb(incoming) && (network.losesAnswer?.(incoming) ?? false),
  };
  const aws = await forwardTo(inject('dynamodbEndpoint'), interception);
  const folder = await mkdtemp(join(tmpdir(), 'pets tool ü-'));
  onTestFinished(async () => {
    aws.close();
    await rm(folder, { recursive: true, force: true });
  });
  const local = { endpoint: aws.endpoint, credentials };
  const run = (args: readonly string[], options: RunOptions = {}) =>
    runInProcess(runPets, [...args, '--stage', 'local'], { local, ...options });
  const crash = async (args: readonly string[], writes: number) => {
    const reached = Promise.withResolvers<void>();
    const unanswered: ServerResponse[] = [];
    let sent = 0;
    // A way to AWS of its own, on which nothing arrives any more, now and at every repetition.
    const way = await forwardTo(inject('dynamodbEndpoint'), {
      ...interception,
      answer: (incoming, outgoing) => {
        if (isWrite(incoming)) sent += 1;
        if (sent <= writes) return interception.answer!(incoming, outgoing);
        unanswered.push(outgoing);
        reached.resolve();
        return true;
      },
    });
    onTestFinished(() => {
      way.close();
      for (const each of unanswered) each.destroy();
    });
    const { stderr, ended } = startInProcess(runPets, [...args, '--stage', 'local'], {
      local: { endpoint: way.endpoint, credentials },
    });
    await Promise.race([reached.promise, ended.then(() => Promise.reject(new Error('It ended by itself')))]);
    return stderr();
  };
  const runInProd = (args: readonly string[], options: RunOptions = {}) => {
    vi.stubEnv('AWS_ENDPOINT_URL', aws.endpoint);
    vi.stubEnv('AWS_REGION', tableOfService ? awsVariables('')['AWS_REGION'] : 'us-east-1');
    vi.stubEnv('AWS_ACCESS_KEY_ID', credentials.accessKeyId);
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', credentials.secretAccessKey);
    return runInProcess(runPets, [...args, '--stage', 'prod'], options);
  };
  const json = async <T>(args: readonly string[], options: RunOptions = {}) => {
    const done = await run([...args, '--json'], options);
    expect(done).toMatchObject({ exitCode: 0 });
    return JSON.parse(done.stdout) as T;
  };
  return { table, folder, run, crash, runInProd, json };
}

/** Whether a call writes one item. */
export function isWrite({ headers }: IncomingMessage): boolean {
  return /\.(Put|Update|Delete)Item$/.test(String(headers['x-amz-target']));
}

/** Answers a call of DynamoDB with an error that is final. @returns that it did */
export function deny(outgoing: ServerResponse): true {
  const error = {
    __type: 'com.amazonaws.dynamodb.v20120810#AccessDeniedException',
    message: 'Something broke',
  };
  outgoing.writeHead(400, { 'Content-Type': 'application/x-amz-json-1.0' }).end(JSON.stringify(error));
  return true;
}

export async function put({ client, tableName }: PetTable, ...items: readonly object[]): Promise<void> {
  for (const item of items) await client.send(new PutCommand({ TableName: tableName, Item: item }));
}

/** All items of a small table, in the order of their IDs. */
export async function allItems({ client, tableName }: PetTable): Promise<Item[]> {
  const { Items: items = [] } = await client.send(
    new ScanCommand({ TableName: tableName, ConsistentRead: true }),
  );
  return items.toSorted((a, b) => Number(a['id']) - Number(b['id']));
}

export async function allPets(table: PetTable) {
  return (await allItems(table)).map((item) => toStored(item).pet);
}
