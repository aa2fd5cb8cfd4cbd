import { PutCommand } from '@aws-sdk/lib-dynamodb';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { captureLog, newCaller, Service } from '../../support/service.ts';

let service: Service;
let log: string[];

beforeAll(async () => {
  log = captureLog();
  service = await Service.start();
});

beforeEach(() => {
  log.length = 0;
});

test('has exactly one line for each request, with its operation, status and caller', async () => {
  await service.get('/pets');
  await service.post({ name: 'Rex', categoryId: 7 });
  await service.post('');
  await service.get('/pets/x');
  await service.get('/nowhere');
  expect(log.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { operation: 'listPets', status: 200, level: 'INFO', plan: 'enterprise', RequestsAdmitted: 1 },
    { operation: 'createPet', status: 201, level: 'INFO', PetsCreated: 1, RequestsAdmitted: 1 },
    { operation: 'createPet', status: 400, level: 'INFO', RequestsAdmitted: 1 },
    { operation: 'getPet', status: 404, level: 'INFO', DeprecatedCalls: 1, RequestsAdmitted: 1 },
    { operation: 'unmatchedRoute', status: 404, level: 'INFO', RequestsAdmitted: 1 },
  ]);
});

test('has the request ID of the response, and the key ID', async () => {
  const caller = newCaller('pro');
  const { headers } = await service.get('/pets', caller);
  expect(log.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { requestId: headers['X-Request-Id'], keyId: caller['keyId'], plan: 'pro', Plan: 'pro' },
  ]);
});

test('never contains the hash of a key', async () => {
  const caller = newCaller('free', { perMinute: 1, perDay: 1 });
  await Promise.all(Array.from({ length: 3 }, () => service.get('/pets', caller)));
  await service.get('/pets/x', caller);
  await service.post('{', caller);
  const { client, tableName } = service.tables.pets;
  await client.send(new PutCommand({ TableName: tableName, Item: { id: 1, status: 'malformed' } }));
  await service.get('/pets/1');
  const statuses = log.map((line) => /"status":(\d+)/.exec(line)?.[1]);
  expect(new Set(statuses)).toEqual(new Set(['200', '429', '500']));
  expect(log.filter((line) => /[0-9a-f]{64}/.test(line))).toEqual([]);
});
