import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { DynamoDB } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocument } from '@aws-sdk/lib-dynamodb';
import { NodeHttpHandler } from '@smithy/node-http-handler';

/*
 * Makes a schedule happen outside of the simulation: the same code, real time unless the subject has a clock, a running engine. Calls and answers are held back at
 * the client's request handler until it is their turn.
 */

const waitMs = 20_000;
/** The name of a copy of a table as it was at the start, for reads that do not see the last writes. */
const copyOf = (name) => `${name}-at-the-start`;
const lost = () => Object.assign(new Error('The connection broke'), { name: 'TimeoutError' });
const crashed = { status: 'crashed' };
const jsonHeaders = { 'content-type': 'application/x-amz-json-1.0' };
/** What DynamoDB answers to a call that meets one of these. */
const errors = {
  failed: { statusCode: 500, __type: 'InternalServerError' },
  failedAfter: { statusCode: 500, __type: 'InternalServerError' },
  throttled: { statusCode: 400, __type: 'ThrottlingException' },
  denied: { statusCode: 400, __type: 'AccessDeniedException' },
};

/** @returns what the check of the subject says */
export async function replay(endpoint, subject, failure) {
  const { now } = Date;
  const { clock } = subject;
  if (clock !== undefined) Date.now = () => clock;
  try {
    return await replayed(endpoint, subject, failure);
  } finally {
    Date.now = now;
  }
}

async function replayed(endpoint, { tables, items = {}, requests, afterwards = [], check }, { steps }) {
  const credentials = { accessKeyId: randomUUID().replaceAll('-', ''), secretAccessKey: 'local' };
  const network = new NodeHttpHandler();
  const setUp = new DynamoDB({ endpoint, credentials, region: 'eu-central-1', requestHandler: network });
  const documents = DynamoDBDocument.from(setUp);
  for (const table of tables)
    for (const TableName of [table.TableName, copyOf(table.TableName)]) {
      await setUp.deleteTable({ TableName }).catch(() => {});
      await setUp.createTable({ ...table, TableName, BillingMode: 'PAY_PER_REQUEST' });
      for (const Item of items[table.TableName] ?? []) await documents.put({ TableName, Item });
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
        const call = new HeldCall(network, sender, request);
        if (passes) void call.answer();
        else open.push(call);
        return call.answered;
      },
    },
  });
  const crashes = requests.map(() => Promise.withResolvers());
  const settled = Promise.all(
    requests.map(async (request, index) => {
      const name = `request ${index + 1}`;
      const [outcome] = await Promise.race([
        Promise.allSettled([(async () => request({ name, client: clientOf(name) }))()]),
        crashes[index].promise,
      ]);
      return outcome;
    }),
  );
  for (const { sender, operation, fate } of steps.filter((step) => requests[step.sender.split(' ')[1] - 1])) {
    // The process goes on by itself.
    if (fate === 'resumes') continue;
    const list = fate === 'arrives' || fate === 'told' ? late : open;
    const isIt = (each) => each.sender === sender && each.operation === operation;
    for (let waited = 0; !list.some(isIt); waited += 5) {
      if (waited > waitMs) throw new Error(`${sender} does not call ${operation}`);
      await sleep(5);
    }
    const index = list.findIndex(isIt);
    const call = list[index];
    if (fate === 'paused') continue;
    if (fate === 'item' || fate === 'left') {
      await call.oneItem(fate === 'left');
      continue;
    }
    list.splice(index, 1);
    if (fate === 'late' || fate === 'applied') late.push(call);
    if (fate.endsWith('After') || fate === 'arrives') await call.send();
    if (fate === 'applied') await call.apply();
    else if (fate === 'told') call.tell();
    else if (fate === 'answered') await call.answer();
    else if (fate === 'stale') await call.answer((name) => copyOf(name));
    else if (fate === 'shortPage') await call.answer((name) => name, { Limit: 1 });
    else if (fate === 'unprocessed') call.leaveRest();
    else if (fate.startsWith('crashed')) crashes[sender.split(' ')[1] - 1].resolve([crashed]);
    else if (errors[fate]) call.refuse(errors[fate]);
    else if (/^(lost|hung)/.test(fate) || fate === 'late') call.reject(lost());
    else if (fate !== 'arrives') throw new Error(`replay.mjs cannot repeat the fate "${fate}".`);
    // What the code does next, before anything else happens.
    await sleep(50);
  }
  passes = true;
  for (const call of open.splice(0)) void call.answer();
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

/** A call that its client waits for. */
class HeldCall {
  #network;
  #request;
  #input;
  /** What of a batch has been answered. */
  #responses = {};
  /** What of it has been left out. */
  #left = {};
  #held;
  #settle = Promise.withResolvers();

  constructor(network, sender, request) {
    this.#network = network;
    this.#request = request;
    this.#input = JSON.parse(
      typeof request.body === 'string' ? request.body : new TextDecoder().decode(request.body),
    );
    this.sender = sender;
    this.operation = request.headers['x-amz-target'].split('.').at(-1);
  }

  get answered() {
    return this.#settle.promise;
  }

  reject(error) {
    this.#settle.reject(error);
  }

  refuse({ statusCode, ...body }) {
    this.#resolve({ statusCode, headers: jsonHeaders }, JSON.stringify(body));
  }

  async send(input = this.#input) {
    const { response } = await this.#network.handle(
      Object.assign(this.#request.constructor === Object ? this.#request : this.#request.clone(), {
        body: JSON.stringify(input),
        headers: {
          ...this.#request.headers,
          'content-length': String(Buffer.byteLength(JSON.stringify(input))),
        },
      }),
    );
    const body = await text(response.body);
    return { response, body };
  }

  /** @param rename of tables @param more members of the input */
  async answer(rename, more) {
    const { TableName } = this.#input;
    const input = { ...this.#input, ...(rename && { TableName: rename(TableName) }), ...more };
    const { response, body } = await this.send(input);
    this.#resolve(response, this.operation.startsWith('Batch') ? this.#merged(JSON.parse(body)) : body);
  }

  /** DynamoDB applies it. Its client is told later. */
  async apply() {
    this.#held = await this.send();
  }

  tell() {
    this.#resolve(this.#held.response, this.#held.body);
  }

  /** DynamoDB gets to the next item of a batch, or leaves it out. */
  async oneItem(isLeft) {
    const [[table, of]] = Object.entries(this.#input.RequestItems);
    const list = of.Keys ?? of;
    const one = list.splice(0, 1);
    if (list.length === 0) delete this.#input.RequestItems[table];
    if (isLeft) {
      const left = (this.#left[table] ??= of.Keys ? { ...of, Keys: [] } : []);
      (left.Keys ?? left).push(...one);
      return;
    }
    const { body } = await this.send({
      ...this.#input,
      RequestItems: { [table]: of.Keys ? { ...of, Keys: one } : one },
    });
    for (const [name, found] of Object.entries(JSON.parse(body).Responses ?? {}))
      (this.#responses[name] ??= []).push(...found);
  }

  /** Answers with the rest of a batch as unprocessed. */
  leaveRest() {
    const rest = this.#input.RequestItems;
    const answer =
      this.operation === 'BatchGetItem'
        ? { Responses: this.#responses, UnprocessedKeys: rest }
        : { UnprocessedItems: rest };
    this.#resolve({ statusCode: 200, headers: jsonHeaders }, JSON.stringify(answer));
  }

  #merged(answer) {
    for (const [name, left] of Object.entries(this.#left))
      (answer.UnprocessedKeys ?? answer.UnprocessedItems)[name] = left;
    for (const [name, found] of Object.entries(this.#responses))
      (answer.Responses[name] ??= []).unshift(...found);
    return JSON.stringify(answer);
  }

  #resolve(response, body) {
    const { 'x-amz-crc32': _crc, 'content-length': _length, ...headers } = response.headers;
    this.#settle.resolve({ response: { ...response, headers, body: Readable.from([body]) } });
  }
}
