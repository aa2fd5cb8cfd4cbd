/**
 * A process of its own that asks the limiter for admission, as one more execution environment of a function
 * would. It is forked with the endpoint of DynamoDB as its argument, and answers each order with its decisions.
 */
import { argv } from 'node:process';
import * as z from 'zod/mini';
import { admit } from '../../functions/access/limiter.ts';
import { connect } from '../../functions/dynamodb/connection.ts';
import { awsVariables } from './aws-variables.ts';
import { at } from './times.ts';

const order = z.object({
  tableName: z.string(),
  keyHash: z.string(),
  limits: z.object({ perMinute: z.int(), perDay: z.int() }),
  /** The clock of each request, Unix seconds. */
  now: z.int(),
  /** How many, all at once. */
  requests: z.int(),
});

const { client } = connect(awsVariables(z.parse(z.string(), argv[2])));
process.on('message', (message) => {
  const { tableName, keyHash, limits, now, requests } = z.parse(order, message);
  const decisions = Array.from({ length: requests }, () =>
    admit({ client, tableName }, { keyHash, limits, now: at(now) }),
  );
  void Promise.all(decisions).then((all) => process.send?.(all));
});
process.send?.('ready');
