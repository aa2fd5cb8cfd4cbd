import * as z from 'zod';
import { tableNames } from '../../functions/tables.ts';
import { tableShape } from '../../test/support/table-shapes.ts';
import { startDatabase } from '../../tools/contributors/local/database.ts';
import { Session, type SubjectDefinition } from '../harness/cold-starts.ts';
import type { Answers, CallAnswer } from '../harness/dynamodb.ts';
import { median } from '../harness/stats.ts';
import { partsTables } from '../harness/variables.ts';
import { subjects } from './subjects.ts';

/** What a request asks of DynamoDB, when its key has been used before in the minute. */
export interface Calls {
  readonly calls: number;
  /** Calls that wait for another one to be answered, and the first. */
  readonly inSequence: number;
  readonly readUnits: number;
  readonly writeUnits: number;
}

/** What an operation calls in the service, and in the variant `parts`. */
export type CallsOfBoth = Readonly<Record<'own' | 'parts', Calls>>;

interface Call {
  readonly at: number;
  readonly reads: boolean;
  readonly units: number;
}

/** Milliseconds for each answer: longer than parallel calls are apart. */
const waitMs = 300;

/** Starts of each subject. A minute can begin during one of them. */
const starts = 3;

/** Counts calls and units on a real engine. Dynoxide, because DynamoDB Local takes a transaction's index writes twice. */
export async function measureCalls(): Promise<Readonly<Record<'list' | 'create', CallsOfBoth>>> {
  const engine = await startDatabase({ database: 'dynoxide' });
  const seen: Call[] = [];
  const answers: Answers = async (operation, input) => {
    const at = performance.now();
    const answer = await call(engine.endpoint, operation, { ...input, ReturnConsumedCapacity: 'TOTAL' });
    seen.push({ at, reads: /^(?:Query|GetItem)$/.test(operation), units: unitsOf(answer) });
    return answer;
  };
  try {
    await fill(engine.endpoint);
    return await Session.run(
      async (session) => {
        const measure = async (definition: SubjectDefinition): Promise<Calls> => {
          const subject = await session.subject(definition);
          const requests: Call[][] = [];
          for (let done = 0; done <= starts; done += 1) {
            await session.startOnce(subject);
            requests.push(seen.splice(0));
          }
          return summary(requests.slice(1));
        };
        return {
          list: { own: await measure(subjects.list), parts: await measure(subjects.listOfParts) },
          create: { own: await measure(subjects.create), parts: await measure(subjects.createOfParts) },
        };
      },
      waitMs,
      answers,
    );
  } finally {
    await engine.stop();
  }
}

function summary(requests: readonly (readonly Call[])[]): Calls {
  const typical = (figure: (calls: readonly Call[]) => number) => median(requests.map(figure));
  const units = (reads: boolean) =>
    typical((calls) => calls.reduce((sum, each) => sum + (each.reads === reads ? each.units : 0), 0));
  return {
    calls: typical(({ length }) => length),
    inSequence: typical(waves),
    readUnits: units(true),
    writeUnits: units(false),
  };
}

/** A call that comes before the first of a wave is answered belongs to the wave. */
function waves(calls: readonly Call[]): number {
  let [count, answered] = [0, -Infinity];
  for (const { at } of calls.toSorted((a, b) => a.at - b.at)) {
    if (at < answered) continue;
    count += 1;
    answered = at + waitMs;
  }
  return count;
}

const consumed = z.object({ CapacityUnits: z.number() });
const answerBody = z.object({
  ConsumedCapacity: z.union([consumed.transform((one) => [one]), z.array(consumed)]).optional(),
});

/** A write whose condition fails consumes a unit, too, but no answer says so. */
function unitsOf({ status, body }: CallAnswer): number {
  if (status !== 200) return 1;
  const { ConsumedCapacity: all = [] } = answerBody.parse(body);
  return all.reduce((sum, { CapacityUnits: units }) => sum + units, 0);
}

async function call(endpoint: string, operation: string, input: object): Promise<CallAnswer> {
  const answer = await fetch(endpoint, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/x-amz-json-1.0',
      'X-Amz-Target': `DynamoDB_20120810.${operation}`,
      // Any signature will do.
      Authorization:
        'AWS4-HMAC-SHA256 Credential=local/20260101/eu-central-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0',
      'X-Amz-Date': '20260101T000000Z',
    },
    body: JSON.stringify(input),
  });
  return { status: answer.status, body: await answer.json() };
}

/** Makes all tables, and stores a page of animals. */
async function fill(endpoint: string): Promise<void> {
  const make = async (operation: string, input: object): Promise<void> => {
    const { status, body } = await call(endpoint, operation, input);
    if (status !== 200) throw new Error(`${operation} failed: ${JSON.stringify(body)}`);
  };
  const definitions = tableNames.map((name) => {
    const { TimeToLiveSpecification: _, ...definition } = tableShape(name);
    return definition;
  });
  const ofParts = [
    [partsTables.PARTS_LIMITS_TABLE, 'key'],
    [partsTables.PARTS_IDEMPOTENCY_TABLE, 'id'],
  ].map(([TableName, AttributeName]) => ({
    TableName,
    KeySchema: [{ AttributeName, KeyType: 'HASH' }],
    AttributeDefinitions: [{ AttributeName, AttributeType: 'S' }],
  }));
  for (const definition of [...definitions, ...ofParts])
    await make('CreateTable', { ...definition, BillingMode: 'PAY_PER_REQUEST' });
  for (let id = 1; id <= 21; id += 1)
    await make('PutItem', {
      TableName: 'Pets',
      Item: {
        id: { N: String(id) },
        name: { S: `Bella ${id}` },
        categoryId: { N: '3' },
        status: { S: 'available' },
      },
    });
}
