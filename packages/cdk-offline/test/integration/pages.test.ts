import { expect, it } from 'vitest';
import { serveGreeting } from './greeting.ts';

it('Extra pages are served for GET outside the stage, including pages added later', async () => {
  const pages = new Map([['/', { type: 'text/html', body: '<h1>Hello</h1>' }]]);
  const { service } = await serveGreeting(undefined, { pages });
  const { endpoint, url } = service;
  pages.set('/later.txt', { type: 'text/plain', body: 'later' });
  // oxlint-disable-next-line eslint/no-restricted-properties -- of an HTTP URL
  pages.set(new URL(url).pathname, { type: 'text/plain', body: 'hides the stage' });

  const page = await fetch(`${endpoint}/?x=1`);
  expect([page.status, page.headers.get('Content-Type')]).toEqual([200, 'text/html']);
  expect(await page.text()).toBe('<h1>Hello</h1>');
  // No other site can embed, frame or reinterpret a page, which may contain keys.
  expect(Object.fromEntries(page.headers)).toMatchObject({
    'cross-origin-resource-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'cache-control': 'no-store',
  });
  expect(await (await fetch(`${endpoint}/later.txt`)).text()).toBe('later');
  expect((await fetch(endpoint, { method: 'POST' })).status).toBe(403);
  expect((await fetch(`${endpoint}/absent`)).status).toBe(403);
  expect(await (await fetch(url)).text()).not.toBe('hides the stage');
});
