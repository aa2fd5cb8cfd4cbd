import { describe, expect, test } from 'vitest';
import { allowedMethods } from '../../functions/operations.ts';
import { anError } from '../support/expected-errors.ts';
import { World } from './world.ts';

// These tests check docs/interface.md#operations and RFC 9110, section 15.5.6.

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'];

test('a path without a resource gets 404, whatever its method', async () => {
  const world = new World({ isChecked: false });
  const key = world.key('pro');
  const paths = [
    '/',
    '/pet',
    '/Pets',
    '/pets/1/2',
    '/v1/pets',
    '/%2e%2e/pets',
    '/stores/orders',
    '/favicon.ico',
  ];
  for (const path of paths)
    for (const method of ['GET', 'POST', 'DELETE'])
      expect(await world.send(key, `${method} ${path}`)).toMatchObject(anError('route_not_found'));
});

describe.each([...allowedMethods()])('%s has the methods %j:', (resource, allowed) => {
  test.each(methods.filter((method) => !allowed.includes(method)))(
    '%s gets 405 and their names',
    async (method) => {
      const world = new World({ isChecked: false });
      const answer = await world.send(world.key('free'), `${method} ${resource.replace('{petId}', '1')}`);
      expect(answer).toMatchObject(anError('method_not_allowed', { headers: { Allow: allowed.join(', ') } }));
    },
  );
});
