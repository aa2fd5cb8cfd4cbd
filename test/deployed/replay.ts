import { randomUUID } from 'node:crypto';
import type { Operation, Tables } from 'dynamodb-interleavings';
import { Refusal } from 'dynamodb-interleavings/simulation';
import { expect, inject } from 'vitest';
import { tableNames } from '../../functions/tables.ts';
import { titleCase } from '../../lib/title-case.ts';
import { rounds } from '../support/rounds.ts';
import { tableShape } from '../support/table-shapes.ts';

interface Got {
  readonly operation: Operation;
  readonly input: object;
  /** An error has a `__type`. */
  readonly answer: object;
}

/** How many calls of a test were recorded. A property makes thousands. */
const recorded = new WeakMap<object, number>();
const most = rounds({ full: 2_000, sample: 150 });

/** What tables in memory are asked from now on, and what they answer. */
export class RecordedCalls {
  readonly calls: Got[] = [];

  constructor(tables: Tables, test: object) {
    const call = tables.call.bind(tables);
    const note = (got: Got) => {
      const number = (recorded.get(test) ?? 0) + 1;
      recorded.set(test, number);
      if (number <= most) this.calls.push(got);
    };
    tables.call = (name, input, reading) => {
      const operation = name as Operation;
      try {
        const answer = call(operation, input, reading);
        // A page that a test has made short is another one of an engine, and so is each page of a scan.
        if (reading?.fit === undefined && !(operation === 'Scan' && isPage(input, answer)))
          note({ operation, input, answer });
        return answer;
      } catch (error) {
        if (error instanceof Refusal)
          note({ operation, input, answer: { __type: error.type, ...error.members } });
        throw error;
      }
    };
  }
}

function isPage(input: object, answer: object): boolean {
  return 'ExclusiveStartKey' in input || 'LastEvaluatedKey' in answer;
}

/** Asks real engines the same, one after the other: they have to answer what the tables in memory have answered. */
export async function replay({ calls }: RecordedCalls): Promise<void> {
  if (calls.length === 0) return;
  for (const endpoint of [inject('dynamodbEndpoint'), inject('secondEndpoint')])
    if (endpoint !== undefined) await replayOn(endpoint, calls);
}

async function replayOn(endpoint: string, calls: readonly Got[]): Promise<void> {
  const send = (operation: string, body: string) => answerOf(endpoint, operation, body);
  const run = randomUUID();
  const all = JSON.stringify(calls);
  const used = tableNames.filter((each) => all.includes(`"${titleCase(each)}"`));
  const created = used.map(async (name) => {
    const { TimeToLiveSpecification: _, ...definition } = tableShape(name, `${titleCase(name)}-${run}`);
    await send('CreateTable', JSON.stringify({ ...definition, BillingMode: 'PAY_PER_REQUEST' }));
  });
  await Promise.all(created);
  const names = new RegExp(`"(${tableNames.map((name) => titleCase(name)).join('|')})"`, 'g');
  for (const { operation, input, answer } of calls) {
    const text = JSON.stringify(input);
    // All worlds draw the same tokens.
    const asked = text
      .replaceAll(names, `"$1-${run}"`)
      .replace(/("ClientRequestToken":").{8}/, `$1${run.slice(0, 8)}`);
    const told = (await send(operation, asked)).replaceAll(`-${run}"`, '"');
    expect(comparable(told, operation), `${operation} ${text}`).toEqual(
      comparable(JSON.stringify(answer), operation),
    );
  }
}

/** Calls the engine without the SDK, which would take most of the time. Nobody checks the signature. */
async function answerOf(endpoint: string, operation: string, body: string): Promise<string> {
  const headers = {
    'Content-Type': 'application/x-amz-json-1.0',
    'X-Amz-Target': `DynamoDB_20120810.${operation}`,
    'X-Amz-Date': '20260101T000000Z',
    Authorization:
      'AWS4-HMAC-SHA256 Credential=local/20260101/eu-central-1/dynamodb/aws4_request, SignedHeaders=host;x-amz-date, Signature=0',
  };
  const answer = await fetch(endpoint, { method: 'POST', headers, body });
  return answer.text();
}

/** The answer without messages, whose words are not the same. Scans and batches have no order. */
function comparable(text: string, operation: Operation): unknown {
  return JSON.parse(text, (name, value: unknown) => {
    if (/^message$/i.test(name)) return undefined;
    if (name === '__type') return String(value).replace(/.*#/, '');
    const hasNoOrder = operation === 'BatchGetItem' || (operation === 'Scan' && name === 'Items');
    return hasNoOrder && Array.isArray(value) ? new Set<unknown>(value) : value;
  });
}
