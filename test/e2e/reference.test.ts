import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import axe from 'axe-core';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { isLocal } from './support.ts';

const chromiumPath = process.env['CHROMIUM'] ?? '/usr/bin/chromium';
const installed = existsSync(chromiumPath);
if (!installed) {
  console.warn(
    `The tests of the API reference are skipped: there is no ${chromiumPath}. Install Debian's package chromium.`,
  );
}

const screenshots = '.local/screenshots';
const wide = { width: 1280, height: 900 };
const narrow = { width: 390, height: 844 };

/** Starts a tool. Its output is read until it prints what the expression captures. */
async function startTool(args: readonly string[], done: RegExp) {
  const child = spawn(process.execPath, ['tools/run.mjs', ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  for await (const chunk of child.stdout.iterator({ destroyOnReturn: false })) {
    output += String(chunk);
    const found = done.exec(output)?.[1];
    if (found !== undefined) {
      child.stdout.resume();
      return { found, stop: () => child.kill() };
    }
  }
  throw new Error(`${args.join(' ')} ended without ${String(done)}: ${output}`);
}

/** What axe-core finds, but for what it calls minor. */
async function accessibilityProblems(page: Page): Promise<string[]> {
  // By the debugger, because the page allows no other scripts.
  await page.evaluate(axe.source);
  const result: unknown = await page.evaluate('axe.run()');
  const { violations } = z
    .object({
      violations: z.array(
        z.object({ id: z.string(), impact: z.string(), nodes: z.array(z.object({ html: z.string() })) }),
      ),
    })
    .parse(result);
  return violations
    .filter(({ impact }) => impact !== 'minor')
    .map(({ id, impact, nodes }) => `${impact} ${id}: ${nodes.map((node) => node.html).join(' ')}`);
}

async function expectNoSidewaysScrolling(page: Page, { width }: { readonly width: number }): Promise<void> {
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
}

describe.runIf(isLocal && installed)('The API reference', () => {
  let browser: Browser;
  let service: Awaited<ReturnType<typeof startTool>>;

  beforeAll(async () => {
    await mkdir(screenshots, { recursive: true });
    browser = await chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox'] });
    service = await startTool(['start', '--port', '0', '--quiet'], /^API reference: (http:\S+)$/m);
  });
  afterAll(async () => {
    service?.stop();
    await browser?.close();
  });

  /** A page with what it requested and what it reported. */
  async function open(url: string, options: BrowserContextOptions = {}) {
    const context = await browser.newContext({ viewport: wide, ...options });
    onTestFinished(() => context.close());
    const page = await context.newPage();
    const requested: string[] = [];
    const problems: string[] = [];
    page.on('request', (request) => requested.push(request.url()));
    page.on('console', (message) => {
      if (message.type() === 'error') problems.push(message.text());
    });
    page.on('pageerror', (error) => problems.push(String(error)));
    await page.goto(url);
    return { page, context, requested, problems };
  }

  const operationOf = (page: Page, id: string) => page.locator(`section[id="${id}"]`);

  /** Sends the request of an operation and returns what the page shows of the response. */
  async function send(page: Page, id: string) {
    const operation = operationOf(page, id);
    const sent = page.waitForRequest((request) => request.url().includes('/v1/'));
    await operation.getByRole('button', { name: 'Send request' }).click();
    const answer = operation.locator('.answer');
    const heading = answer.locator('figcaption span');
    await heading.waitFor();
    await answer.getByText('response headers').click();
    return {
      request: await sent,
      heading: await heading.innerText(),
      body: await answer.getByLabel('Response body').innerText(),
      headers: await answer.getByLabel('Response headers').innerText(),
    };
  }

  describe.each([
    { name: 'wide', viewport: wide },
    { name: 'narrow', viewport: narrow },
  ])('on a $name screen', ({ name, viewport }) => {
    it.each(['light', 'dark'] as const)('is usable in a %s theme, also with a response', async (theme) => {
      const { page, requested, problems } = await open(service.found, { viewport, colorScheme: theme });
      const background = String(await page.evaluate('getComputedStyle(document.body).backgroundColor'));
      const [brightness = Number.NaN] = background.match(/\d+/g)!.map(Number);
      expect(theme === 'light' ? 255 - brightness : brightness).toBeLessThan(32);
      await page.screenshot({ path: join(screenshots, `reference-${name}-${theme}.png`), fullPage: true });
      await expectNoSidewaysScrolling(page, viewport);
      if (viewport === wide) {
        // Below the last section is room to scroll it to the top.
        const last = await page.locator('main > section').last().boundingBox();
        expect(last!.y + last!.height).toBeLessThanOrEqual(6_000);
      }
      expect(await accessibilityProblems(page)).toEqual([]);

      await send(page, 'listPets');
      await page.evaluate('document.querySelector("section[id=listPets]").scrollIntoView()');
      await page.screenshot({ path: join(screenshots, `request-${name}-${theme}.png`) });
      await expectNoSidewaysScrolling(page, viewport);
      expect(await accessibilityProblems(page)).toEqual([]);

      await page.getByRole('main').getByRole('link', { name: 'API guide' }).click();
      await page.getByRole('heading', { name: 'Get started in five minutes' }).waitFor();
      await expectNoSidewaysScrolling(page, viewport);
      expect(await accessibilityProblems(page)).toEqual([]);
      expect(
        requested.filter(
          (each) => !each.startsWith(new URL(service.found).origin) && !each.startsWith('data:'),
        ),
      ).toEqual([]);
      expect(problems).toEqual([]);
    });
  });

  it('has an introduction, the operations and their samples', async () => {
    const { page } = await open(service.found);
    const headings = await page.getByRole('heading', { level: 2 }).allInnerTexts();
    for (const heading of ['Authentication', 'Plans and rate limits', 'Paging', 'Retries', 'Errors']) {
      expect(headings).toContain(heading);
    }
    await page.getByText('An API key: as_<stage>_<36 letters and digits>.').waitFor();
    const paths = await page.locator('.operation .path').allInnerTexts();
    expect(paths).toEqual(['GET /pets', 'POST /pets', 'GET /pets/{petId}']);
    expect(await page.locator('.operation:has(.badge)').getAttribute('id')).toBe('getPet');
    await page.getByRole('navigation').getByRole('link', { name: 'Get an animal deprecated' }).waitFor();
    await page.getByRole('navigation').getByRole('link', { name: 'Get an animal' }).click();
    expect(new URL(page.url()).hash).toBe('#getPet');
    await page.reload();
    await page.getByText(/export KEY=as_local_\w{36}$/m).waitFor();
    await page.locator('nav a[href="#getPet"][aria-current]').waitFor();
    expect(await page.locator('nav [aria-current]').count()).toBe(1);
  });

  it('sends a request of each kind with the key of the page, and keeps every digit of an int64', async () => {
    const { page, problems } = await open(service.found);
    const largest = '9223372036854775807';

    const list = operationOf(page, 'listPets');
    await list.getByLabel('limit', { exact: true }).fill('2');
    await list.getByLabel('status', { exact: true }).selectOption('available');
    const listed = await send(page, 'listPets');
    expect(listed.heading).toMatch(/^GET \/v1\/pets\?limit=2&status=available: 200 in \d+ ms$/);
    expect(z.array(z.object({ status: z.literal('available') })).parse(JSON.parse(listed.body))).toHaveLength(
      2,
    );
    expect(listed.headers).toMatch(/^x-ratelimit-limit: 300\nx-ratelimit-remaining: \d+$/m);

    const create = operationOf(page, 'createPet');
    await create.getByLabel('Idempotency-Key', { exact: true }).fill('once');
    await create.getByLabel('Body', { exact: true }).fill(`{ "name": "Max", "categoryId": ${largest} }`);
    const created = await send(page, 'createPet');
    expect(created.request.postData()).toBe(`{ "name": "Max", "categoryId": ${largest} }`);
    expect(created.heading).toMatch(/^POST \/v1\/pets: 201 /);
    expect(created.body).toMatch(
      new RegExp(`^{\n {2}"id": \\d+,\n {2}"name": "Max",\n {2}"categoryId": ${largest},\n`),
    );
    const repeated = await send(page, 'createPet');
    expect(repeated.body).toBe(created.body);
    expect(repeated.headers).toContain('idempotency-replayed: true');

    // Its ID is filled in by the link of the creation's response.
    const got = await send(page, 'getPet');
    expect(got.body).toBe(created.body);
    expect(got.headers).toContain('sunset: ');

    expect(problems).toEqual([]);
    await page.getByLabel('API key').fill('as_local_unknown');
    const rejected = await send(page, 'getPet');
    expect(rejected.heading).toContain(': 401 in ');
    expect(JSON.parse(rejected.body)).toMatchObject({ code: 'unauthorized' });
  });

  it('shows the chosen language in every sample, and copies it', async () => {
    const { page, context } = await open(service.found);
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    const samples = page.locator('figure:has([name="Sample"])');
    expect(await samples.getByText('curl -sS').filter({ visible: true }).count()).toBe(3);
    await operationOf(page, 'createPet').locator('[name="Sample"]').selectOption('Python');
    expect(await samples.locator('pre:visible').allInnerTexts()).toEqual(
      Array.from({ length: 3 }, () => expect.stringContaining('urllib.request') as unknown),
    );
    await samples.nth(1).getByRole('button', { name: 'Copy' }).click();
    await samples.nth(1).getByRole('button', { name: 'Copied' }).waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(
      await samples.nth(1).locator('pre:visible').innerText(),
    );

    await page.locator('[name="Response"]').first().selectOption('429 key_suspended');
    await page.getByText('"code": "key_suspended"').filter({ visible: true }).waitFor();

    // Also in another tab, later.
    const later = await context.newPage();
    await later.goto(service.found);
    expect(await later.getByText('urllib.request').filter({ visible: true }).count()).toBeGreaterThan(2);
  });

  it('has samples with the values of the form, which run', async () => {
    const { page, problems } = await open(service.found);
    const list = operationOf(page, 'listPets');
    const sample = list.locator('figure:has([name="Sample"])');
    await list.getByLabel('limit', { exact: true }).fill('3');
    await list.getByLabel('status', { exact: true }).selectOption('sold');
    await sample.getByText('"$API/pets?limit=3&status=sold"').waitFor();
    await sample.locator('[name="Sample"]').selectOption('TypeScript');
    expect(await sample.locator('pre:visible').innerText()).toContain("list({ limit: 3, status: 'sold' })");

    const create = operationOf(page, 'createPet');
    await create
      .getByLabel('Body', { exact: true })
      .fill('{ "name": "O\'Hara",\n "categoryId": 9223372036854775807 }');
    const source = await create.locator('figure:has([name="Sample"]) pre:visible').innerText();
    expect(source).toContain(`{ "name": "O'Hara", "categoryId": 9223372036854775807n }`);
    await send(page, 'createPet');
    // The link of the response fills the ID in.
    const get = operationOf(page, 'getPet');
    const id = await get.getByLabel('petId', { exact: true }).inputValue();
    expect(await get.locator('figure:has([name="Sample"]) pre:visible').innerText()).toContain(`get(${id})`);
    expect(problems).toEqual([]);
  });

  it('follows the link to the next page, with the same query', async () => {
    const { page } = await open(service.found);
    const list = operationOf(page, 'listPets');
    await list.getByLabel('limit', { exact: true }).fill('1');
    const first = await send(page, 'listPets');
    await list.getByRole('button', { name: 'Next page' }).click();
    await list.locator('.answer').locator('span', { hasText: 'cursor=' }).waitFor();
    expect(await list.getByLabel('cursor', { exact: true }).inputValue()).not.toBe('');
    expect(await list.getByLabel('limit', { exact: true }).inputValue()).toBe('1');
    const second = await list.locator('.answer').getByLabel('Response body').innerText();
    expect(JSON.parse(second)).toHaveLength(1);
    expect(second).not.toBe(first.body);
  });

  it('says that a key is none, and sends none that a header cannot hold', async () => {
    const { page, problems } = await open(service.found);
    const key = page.getByLabel('API key');
    await key.fill('as_local_short');
    await page.getByText('This is not an API key.').waitFor();
    await key.fill('schlüssel');
    const list = operationOf(page, 'listPets');
    await list.getByRole('button', { name: 'Send request' }).click();
    await list.getByText('No response: the API key has characters that no key has.').waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    expect(problems).toEqual([]);
  });

  it('keeps its contents in reach on a phone, and folds them after a choice', async () => {
    const { page } = await open(service.found, { viewport: narrow });
    const contents = page.getByRole('navigation');
    await operationOf(page, 'createPet').scrollIntoViewIfNeeded();
    await contents.getByText('Contents').click();
    expect(await accessibilityProblems(page)).toEqual([]);
    await contents.getByRole('link', { name: 'Error codes' }).click();
    expect(await contents.getByRole('link', { name: 'Error codes' }).isVisible()).toBe(false);
    const heading = await page.getByRole('heading', { name: 'Error codes' }).boundingBox();
    expect(heading!.y).toBeGreaterThan(48);
    expect(heading!.y).toBeLessThan(200);
    // A wider window shows them again.
    await page.setViewportSize(wide);
    await contents.getByRole('link', { name: 'Error codes' }).waitFor();
  });

  it('has text beside code at 1,024 pixels, and the code stays beside a long text', async () => {
    const { page } = await open(service.found, { viewport: { width: 1024, height: 900 } });
    const [text, code] = await operationOf(page, 'createPet').locator('> div').all();
    const boxes = async () => [await text!.boundingBox(), await code!.boundingBox()] as const;
    const [left, right] = await boxes();
    expect(right!.x).toBeGreaterThan(left!.x + left!.width);
    await page.evaluate(`scrollTo(0, ${left!.y + left!.height - right!.height - 100})`);
    const [, moved] = await boxes();
    expect(moved!.y).toBeGreaterThanOrEqual(0);
    await expectNoSidewaysScrolling(page, { width: 1024 });
  });

  it('reaches and highlights every section, and each heading has an address', async () => {
    const { page } = await open(service.found);
    const links = page.locator('nav a[href^="#"]:not([href="#content"])');
    expect(await links.count()).toBeGreaterThan(10);
    for (const link of await links.all()) {
      await link.click();
      await page.locator(`nav a[href="${await link.getAttribute('href')}"][aria-current]`).waitFor();
    }
    for (const path of ['', 'api.html']) {
      await page.goto(new URL(path, service.found).href);
      const headings = page.locator('h2:not(.small), h3[id]');
      expect(await headings.locator('> a[href^="#"]').count()).toBe(await headings.count());
    }
  });

  it('can be used with the keyboard alone', async () => {
    const { page } = await open(service.found);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    expect(new URL(page.url()).hash).toBe('#content');

    const list = operationOf(page, 'listPets');
    await list.locator('[name="Sample"]').focus();
    await page.keyboard.press('ArrowDown');
    await list.getByText('for await').waitFor();

    await list.getByLabel('limit', { exact: true }).focus();
    await page.keyboard.type('1');
    await page.keyboard.press('Enter');
    await list.getByText(/limit=1: 200 in/).waitFor();
    await list.getByRole('button', { name: 'Send request' }).focus();
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Next page');
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.ariaLabel')).toBe('Response body');
  });

  it('cannot be read by a page of another origin', async () => {
    const server = createServer((_request, response) => {
      response.setHeader('Content-Type', 'text/html').end('<!doctype html><title>Other</title>');
    }).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await new Promise((resolve) => server.once('listening', resolve));
    const address = z.object({ port: z.number() }).parse(server.address());
    const { page } = await open(`http://127.0.0.1:${address.port}/`);
    const url = JSON.stringify(service.found);
    const read = (request: string) => page.evaluate(`${request}.then(() => 'allowed', () => 'blocked')`);
    expect(await read('fetch("/", { mode: "no-cors" })')).toBe('allowed');
    expect(await read(`fetch(${url})`)).toBe('blocked');
    expect(await read(`fetch(${url}, { mode: 'no-cors' })`)).toBe('blocked');
    const script = `new Promise((resolve, reject) => document.head.append(
      Object.assign(document.createElement('script'), { src: ${url}, onload: resolve, onerror: reject })))`;
    expect(await read(script)).toBe('blocked');
  });

  it('is written by npm run docs as a site for a folder, which holds no key and sends nothing', async () => {
    const { found: file } = await startTool(
      ['docs', join(screenshots, 'site')],
      /^Wrote the API reference to (.+)$/m,
    );
    const { page, requested, problems } = await open(pathToFileURL(file).href);
    expect(await page.locator('.operation').count()).toBe(3);
    expect(await page.getByRole('button', { name: 'Send request' }).count()).toBe(0);
    expect(await page.getByLabel('API key').count()).toBe(0);
    await page.locator('[name="Sample"]').first().selectOption('TypeScript');
    await page.getByText('for await').filter({ visible: true }).waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.getByRole('navigation').getByRole('link', { name: 'API guide' }).click();
    await page.getByRole('heading', { name: 'Retry safely' }).waitFor();
    await page.getByRole('link', { name: 'Animal Store Service' }).click();
    await page.getByRole('heading', { name: 'List all animals' }).waitFor();
    expect(requested.filter((each) => !each.startsWith('file:') && !each.startsWith('data:'))).toEqual([]);
    expect(problems).toEqual([]);
  });
});
