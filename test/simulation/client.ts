import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import type { NodeHttpHandler } from '@smithy/node-http-handler';
import { assembledClient } from '../../functions/dynamodb/assembled-client.ts';
import { Clock } from '../../functions/dynamodb/clock.ts';
import type { MemoryTables } from '../support/memory-tables.ts';
import { Network } from './network.ts';
import { World } from './world.ts';

/** The client of the functions, on tables in memory that always answer. */
export function clientInMemory(onCall: () => void = () => {}): {
  readonly client: DynamoDBDocumentClient;
  readonly tables: MemoryTables;
} {
  const network = new Network(new World(Date.now(), Math.random), (call) => {
    call.fate = 'answered';
    network.meet(call)();
  });
  const handle = network.handlerFor(onCall);
  const client = assembledClient({
    region: 'eu-central-1',
    credentials: { accessKeyId: 'id', secretAccessKey: 'secret' },
    clock: new Clock(),
    throttlingRetries: 0,
    requestHandler: {
      handle: (request: Parameters<typeof handle>[0]) => handle(request, { requestTimeout: 1_000 }),
    } as unknown as NodeHttpHandler,
  });
  return {
    client: DynamoDBDocumentClient.from(client, { unmarshallOptions: { wrapNumbers: true } }),
    tables: network.tables,
  };
}
