/**
 * A process of its own that asks the limiter for admission, as one more execution environment of a function
 * would. It is forked with the endpoint of DynamoDB as its argument, and answers each order with its decisions.
 */
import { once } from 'node:events';
import { argv } from 'node:process';
import * as z from 'zod/mini';
import { admit } from '../../functions/access/limiter.ts';
import type { Decision } from '../../functions/access/limits.ts';
import { connect } from '../../functions/dynamodb/connection.ts';
import { awsVariables } from './aws-variables.ts';
import { at } from './times.ts';

const order = z.object({
  tableName: z.string(),
  keyHash: z.string(),
  limits: z.object({ perMinute: z.int(), perDay: z.int() }),
  /** The clock of each request, Unix seconds. All are sent at once. */
  clocks: z.array(z.int()),
});
export type Order = z.infer<typeof order>;
export type Reply = readonly Decision[];

const { client } = connect(awsVariables(z.parse(z.string(), argv[2])));
process.send?.('ready');
for (;;) {
  const [message] = (await once(process, 'message')) as unknown[];
  const { tableName, keyHash, limits, clocks } = z.parse(order, message);
  const decisions = await Promise.all(
    clocks.map((now) => admit({ client, tableName }, { keyHash, limits, now: at(now) })),
  );
  process.send?.(decisions);
}
