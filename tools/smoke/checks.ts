import assert from 'node:assert/strict';
import { authentication } from './authentication.ts';
import type { Check } from './check.ts';
import {
  expectError,
  expectEveryAnswer,
  expectPet,
  expectPets,
  expectStatus,
  nextOf,
  rateOf,
} from './expectations.ts';
import { listings } from './listings.ts';
import { ensureListed, mark, marked } from './marked.ts';

/**
 * The black-box part of the contract: each check is a sentence of the interface and what it takes to see it
 * hold at any base address. Safe for production: bounded calls, and every animal added bears the mark.
 */
export const checks: readonly Check[] = [
  ...authentication,
  {
    name: 'An animal is added with 201, its Location, and the categoryId digit for digit',
    run: async (client) => {
      for (const categoryId of ['9223372036854775807', '-9223372036854775808']) {
        const reply = await client.post(marked(categoryId));
        const pet = expectPet(reply, 201);
        assert.ok(
          Number.isSafeInteger(pet.id) && pet.id > 0,
          `the id ${pet.id} is exact in every JSON client`,
        );
        assert.ok(
          reply.text.includes(`"categoryId":${categoryId}`),
          `categoryId ${categoryId} came back in ${reply.text}`,
        );
        assert.equal(reply.headers.get('location'), `${client.baseUrl}/pets/${pet.id}`, 'Location');
        assert.equal(pet.name, mark);
        assert.equal(pet.status, 'sold');
      }
    },
  },
  {
    name: 'A body that is not valid is 400 and names every fault; one that is no JSON, too large or no JSON type is told apart',
    run: async (client) => {
      const faults = expectError(
        await client.post('{"status":"lost","categoryId":1.5}'),
        400,
        'invalid_request',
      );
      for (const field of ['name', 'categoryId', 'status'])
        assert.match(faults, new RegExp(String.raw`\b${field}:`));
      for (const categoryId of ['9223372036854775808', '"7"', 'null']) {
        const fault = expectError(await client.post(marked(categoryId)), 400, 'invalid_request');
        assert.match(fault, /categoryId:/);
      }
      expectError(await client.post('{"name":'), 400, 'invalid_request');
      expectError(await client.post(`{"name":"${'x'.repeat(70_000)}"}`), 413, 'payload_too_large');
      expectError(
        await client.post('name=Rex', { 'Content-Type': 'text/plain' }),
        415,
        'unsupported_media_type',
      );
    },
  },
  ...listings,
  {
    name: 'A limit, status or cursor that is not valid is 400 and never clamped',
    run: async (client) => {
      for (const [query, field] of [
        ['limit=0', 'limit'],
        ['limit=101', 'limit'],
        ['limit=1.5', 'limit'],
        ['limit=5&limit=6', 'limit'],
        ['status=lost', 'status'],
        ['cursor=abc', 'cursor'],
      ] as const) {
        const message = expectError(await client.send({ path: `/pets?${query}` }), 400, 'invalid_request');
        assert.match(message, new RegExp(`${field}:`), `${query}: the message names ${field}`);
      }
      await ensureListed(client);
      const page = await client.send({ path: '/pets?limit=1&status=sold' });
      const elsewhere = nextOf(page)?.replace('status=sold', 'status=pending');
      assert.ok(elsewhere !== undefined, 'there is a second page of sold animals');
      expectError(await client.send({ path: elsewhere }), 400, 'invalid_request');
    },
  },
  {
    name: 'The deprecated operation answers 200 or 404 and says what replaces it, and until when it stays',
    run: async (client) => {
      await ensureListed(client);
      const [pet] = expectPets(await client.send({ path: '/pets?limit=1' }));
      assert.ok(pet !== undefined, 'there is an animal');
      const found = await client.send({ path: `/pets/${pet.id}` });
      assert.deepEqual(expectPet(found, 200), pet);
      const missing = await client.send({ path: '/pets/1' });
      expectError(missing, 404, 'pet_not_found');
      const absurd = await client.send({ path: '/pets/not-a-number' });
      expectError(absurd, 404, 'pet_not_found');
      for (const reply of [found, missing, absurd]) {
        assert.match(reply.headers.get('deprecation') ?? '(absent)', /^@\d+$/, 'Deprecation');
        assert.equal(reply.headers.get('sunset'), 'Thu, 05 Dec 2030 00:00:00 GMT', 'Sunset');
        assert.equal(reply.headers.get('link'), `<${client.baseUrl}/pets>; rel="successor-version"`, 'Link');
      }
    },
  },
  {
    name: 'An unknown path is 404 and a wrong method 405 with Allow',
    run: async (client) => {
      expectError(await client.send({ path: '/nowhere' }), 404, 'route_not_found');
      const wrong = await client.send({ method: 'DELETE', path: '/pets/1' });
      expectError(wrong, 405, 'method_not_allowed');
      assert.equal(wrong.headers.get('allow'), 'GET');
    },
  },
  {
    name: 'The rate headers count down within a window and say when it resets',
    run: async (client) => {
      const first = await client.send({ path: '/pets?limit=1' });
      const second = await client.send({ path: '/pets?limit=1' });
      for (const reply of [first, second]) {
        expectStatus(reply, 200);
        expectEveryAnswer(reply);
      }
      const [before, after] = [rateOf(first), rateOf(second)];
      const now = Date.now() / 1000;
      assert.ok(
        after.reset > now - 5 && after.reset <= now + 86_405,
        `the limit resets at ${after.reset}, now is ${now}`,
      );
      assert.ok(
        after.remaining < after.limit,
        `of ${after.limit} requests ${after.remaining} remain after two`,
      );
      if (before.reset === after.reset && before.limit === after.limit) {
        assert.ok(
          after.remaining < before.remaining,
          `remaining went from ${before.remaining} to ${after.remaining}`,
        );
      }
    },
  },
];
