import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { DynamoDB } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocument } from '@aws-sdk/lib-dynamodb';
import { NodeHttpHandler } from '@smithy/node-http-handler';

/*
 * Makes a schedule happen outside of the simulation: the same code, real time, a running engine. Calls and answers are held back at
 * the client's request handler until it is their turn.
 */

const waitMs = 20_000;
const lost = () => Object.assign(new Error('The connection broke'), { name: 'TimeoutError' });

/** @returns what the check of the subject says */
export async function replay(endpoint, { tables, items = {}, requests, afterwards = [], check }, { steps }) {
  const credentials = { accessKeyId: randomUUID().replaceAll('-', ''), secretAccessKey: 'local' };
  const network = new NodeHttpHandler();
  const setUp = new DynamoDB({ endpoint, credentials, region: 'eu-central-1', requestHandler: network });
  const documents = DynamoDBDocument.from(setUp);
  for (const table of tables) {
    await setUp.deleteTable({ TableName: table.TableName }).catch(() => {});
    await setUp.createTable({ ...table, BillingMode: 'PAY_PER_REQUEST' });
    for (const Item of items[table.TableName] ?? [])
      await documents.put({ TableName: table.TableName, Item });
  }
  const open = [];
  const late = [];
  let passes = false;
  const clientOf = (sender) => ({
    endpoint,
    credentials,
    region: 'eu-central-1',
    requestHandler: {
      metadata: { handlerProtocol: 'http/1.1' },
      updateHttpClientConfig: () => {},
      httpHandlerConfigs: () => ({}),
      destroy: () => {},
      handle: (request) => {
        const send = () => network.handle(request);
        if (passes) return send();
        return new Promise((resolve, reject) => {
          const operation = request.headers['x-amz-target'].split('.').at(-1);
          open.push({ sender, operation, send, resolve, reject });
        });
      },
    },
  });
  const outcomes = requests.map(async (request, index) => {
    const name = `request ${index + 1}`;
    return request({ name, client: clientOf(name) });
  });
  const settled = Promise.allSettled(outcomes);
  for (const { sender, operation, fate } of steps.filter((step) => requests[step.sender.split(' ')[1] - 1])) {
    const list = fate === 'arrives' ? late : open;
    const isIt = (each) => each.sender === sender && each.operation === operation;
    for (let waited = 0; !list.some(isIt); waited += 5) {
      if (waited > waitMs) throw new Error(`${sender} does not call ${operation}`);
      await sleep(5);
    }
    const [call] = list.splice(list.findIndex(isIt), 1);
    if (fate === 'answered') call.resolve(await call.send());
    else if (fate === 'arrives') await call.send();
    else {
      if (fate === 'late') late.push(call);
      if (fate === 'lostAfter') await call.send();
      call.reject(lost());
    }
    // What the code does next, before anything else happens.
    await sleep(50);
  }
  passes = true;
  for (const { send, resolve, reject } of open.splice(0)) send().then(resolve, reject);
  const stored = new Map();
  const done = await settled;
  for (const request of afterwards)
    done.push(
      ...(await Promise.allSettled([request({ name: 'afterwards', client: clientOf('afterwards') })])),
    );
  for (const { TableName } of tables)
    stored.set(TableName, (await documents.scan({ TableName })).Items ?? []);
  return check({ outcomes: done, tables: { items: (name) => stored.get(name) } });
}
