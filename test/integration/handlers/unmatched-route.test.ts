import { beforeAll, expect, test } from 'vitest';
import { anError } from '../../support/expected-errors.ts';
import { allowedMethods } from '../../../functions/operations.ts';
import { captureLog, Service } from '../../support/service.ts';

let service: Service;

beforeAll(async () => {
  captureLog();
  service = await Service.start();
});

test.each(['/', '/pet', '/Pets', '/pets/1/2', '/v1/pets', '/%2e%2e/pets', '/stores/orders', '/favicon.ico'])(
  'returns 404 for the path %s',
  async (path) => {
    for (const method of ['GET', 'POST', 'DELETE']) {
      expect(await service.call({ method, path })).toEqual(anError('route_not_found'));
    }
  },
);

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'];

test.each(
  [...allowedMethods()].flatMap(([resource, allowed]) =>
    methods
      .filter((method) => !allowed.includes(method))
      .map((method) => [method, resource.replace('{petId}', '1'), allowed.join(', ')] as const),
  ),
)('returns 405 for %s %s, with the supported methods', async (method, path, allowed) => {
  expect(await service.call({ method, path })).toEqual(
    anError('method_not_allowed', { headers: { Allow: allowed } }),
  );
});
