import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import axe, { type AxeResults } from 'axe-core';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { referenceFiles } from '../../../tools/contributors/reference/files.ts';
import { isLocal } from './support.ts';

const chromiumPath = process.env['CHROMIUM'] ?? '/usr/bin/chromium';
const installed = existsSync(chromiumPath);
if (!installed) {
  console.warn(
    `The tests of the API reference are skipped: there is no ${chromiumPath}. Install Debian's package chromium.`,
  );
}

const screenshots = '.local/screenshots';

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

/** A web server of a folder, as anybody has. */
async function serveFolder(folder: string): Promise<string> {
  const types: Readonly<Record<string, string>> = {
    html: 'text/html',
    css: 'text/css',
    js: 'text/javascript',
  };
  const server = createServer(({ url = '/' }, response) => {
    const file = url === '/' ? 'index.html' : url.slice(1);
    readFile(join(folder, file)).then(
      (body) => response.setHeader('Content-Type', types[file.split('.').at(-1)!] ?? 'text/plain').end(body),
      () => response.writeHead(404).end(),
    );
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await new Promise((resolve) => server.once('listening', resolve));
  return `http://127.0.0.1:${z.object({ port: z.number() }).parse(server.address()).port}/`;
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
  async function open(url: string, viewport = { width: 1280, height: 900 }) {
    const context = await browser.newContext({ viewport, colorScheme: 'light' });
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
    await page.getByText('Add an animal').waitFor();
    const elsewhere = () =>
      requested.filter((each) => !each.startsWith(new URL(url).origin) && !each.startsWith('data:'));
    return { page, elsewhere, problems };
  }

  const createPet = (page: Page) => page.locator('#operations-Pets-createPet');

  /** Sends a creation and returns what the page shows of the answer. */
  async function create(page: Page, body: string) {
    const operation = createPet(page);
    if (!(await operation.getByRole('button', { name: 'Execute' }).isVisible()))
      await operation.getByRole('button', { name: 'Try it out' }).click();
    await operation.locator('textarea').fill(body);
    const sent = page.waitForRequest((request) => request.method() === 'POST');
    await operation.getByRole('button', { name: 'Execute' }).click();
    const answer = operation.locator('.live-responses-table');
    await answer.getByText('Response body').waitFor();
    return { sent: (await sent).postData(), answer: await answer.innerText() };
  }

  it.each([1280, 390])(
    'sends requests with its key, and keeps int64 exact, %s pixels wide',
    async (width) => {
      const { page, elsewhere, problems } = await open(service.found, { width, height: 844 });
      const expectNoSidewaysScrolling = async () =>
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
      await expectNoSidewaysScrolling();
      const first = page.locator('.opblock').first();
      expect((await first.boundingBox())!.y).toBeLessThan(844);
      expect(await page.evaluate('document.documentElement.scrollHeight')).toBeLessThan(6500);
      if (width === 390) {
        await first.getByRole('button', { name: 'List animals' }).first().click();
        await first.getByText('Only animals with this status').waitFor();
        await createPet(page).getByRole('button', { name: 'Add an animal' }).first().click();
      }
      await page.screenshot({ path: join(screenshots, `reference-${width}.png`), fullPage: true });

      const body = '{"name":"Rex","categoryId":9223372036854775807}';
      const { sent, answer } = await create(page, body);
      expect(sent).toBe(body);
      expect(answer).toMatch(/^201\b/m);
      expect(answer).toContain('"categoryId": 9223372036854775807,\n');
      expect(answer).toContain('x-ratelimit-remaining');
      await expectNoSidewaysScrolling();
      await createPet(page).locator('.live-responses-table').scrollIntoViewIfNeeded();
      await page.screenshot({ path: join(screenshots, `request-${width}.png`) });
      expect(elsewhere()).toEqual([]);
      expect(problems).toEqual([]);
    },
  );

  it('is dark when the system is, the guide too', async () => {
    const { page } = await open(service.found);
    const expectDark = async (isDark: boolean, of = page) => {
      const background = 'getComputedStyle(document.documentElement).backgroundColor';
      await expect.poll(async () => (await of.evaluate(background)) === 'rgb(28, 32, 34)').toBe(isDark);
    };
    await expectDark(false);
    await page.emulateMedia({ colorScheme: 'dark' });
    await expectDark(true);
    const opened = page.waitForEvent('popup');
    await page.getByRole('link', { name: 'guide' }).click();
    const guide = await opened;
    await guide.getByRole('heading', { name: 'Use the API' }).waitFor();
    await guide.emulateMedia({ colorScheme: 'dark' });
    await expectDark(true, guide);
  });

  it('has a sample with the address of the service and its key', async () => {
    const { page } = await open(service.found);
    const { origin } = new URL(service.found);
    const sample = await page.locator('.info pre code').innerText();
    expect(sample).toContain(`export API=${origin}/v1 ${service.found.replace(/.*#key/, 'KEY')}\n`);
    const guide = await fetch(new URL('api.html', origin)).then((response) => response.text());
    expect(guide).toContain(`export API=${origin}/v1\n`);
    expect(guide).not.toContain('127.0.0.1:3000');
  });

  it('shows each operation with its samples, and says once which headers every response has', async () => {
    const { page } = await open(service.found);
    for (const operation of ['listPets', 'createPet', 'getPet'])
      expect(await page.locator(`#operations-Pets-${operation} .highlight-code`).count()).toBeGreaterThan(4);
    const headers = await page.locator('.headers .header-col:first-child').allInnerTexts();
    expect(headers).toContain('Location');
    const table = page.locator('section.guide td:first-child');
    const names = await table.allInnerTexts();
    expect(names).toEqual(
      expect.arrayContaining(['X-RateLimit-Limit', 'X-Request-Id', 'RateLimit', 'Sunset']),
    );
    // "Link" is the next page of a list, and the replacement of a deprecated operation.
    expect(headers.filter((name) => name !== 'Link' && names.includes(name))).toEqual([]);
    expect(headers.filter((name) => name === 'Link')).toHaveLength(1);
    const lastOperation = await page.locator('.opblock').last().boundingBox();
    expect((await table.first().boundingBox())!.y).toBeGreaterThan(lastOperation!.y + lastOperation!.height);
    // They are left out of the page only, not of the document.
    const document = await fetch(new URL('openapi.yaml', service.found)).then((response) => response.text());
    expect(document).toContain("$ref: '#/components/headers/X-Request-Id'");
  });

  const pages = ['', 'api.html', 'write-a-client.html', 'interface.html', 'limits.html'];
  it.each(pages)('has contrasts of WCAG AA in both themes: /%s', async (path) => {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
    onTestFinished(() => context.close());
    const page = await context.newPage();
    await page.goto(new URL(path, service.found).href);
    await page
      .locator(path === '' ? '#operations-Pets-getPet .highlight-code' : '.guide')
      .first()
      .waitFor();
    await page.evaluate(axe.source);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      // Colours change gradually.
      const check = async () => {
        const result = await page.evaluate("axe.run({ runOnly: 'color-contrast' })");
        const { passes, violations } = result as AxeResults;
        return {
          checked: passes.length,
          violations: violations.flatMap(({ nodes }) => nodes.map(({ html }) => html)),
        };
      };
      await expect.poll(check, { timeout: 30_000 }).toEqual({ checked: 1, violations: [] });
    }
  });

  it('takes the key out of the address, and keeps it when the page is loaded again', async () => {
    const { page } = await open(service.found);
    expect(page.url()).toBe(new URL('/', service.found).href);
    await page.reload();
    expect((await create(page, '{"name":"Rex","categoryId":7}')).answer).toMatch(/^201\b/m);
  });

  it('shows an answer that is an error, or no JSON', async () => {
    const { page } = await open(service.found);
    expect((await create(page, '{"name":"Rex"}')).answer).toContain('"code": "invalid_request"');
    await page.route('**/v1/pets', (route) =>
      route.fulfill({ status: 502, contentType: 'text/html', body: '<html></html>' }),
    );
    expect((await create(page, '{"name":"Rex","categoryId":7}')).answer).toContain('<html></html>');
  });

  it('is written by npm run docs for any web server, and sends no requests there', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'reference-'));
    await startTool(['docs', '--output', folder], /^Wrote the API reference to (.+)$/m);
    const address = await serveFolder(folder);
    const { page, elsewhere, problems } = await open(address);
    await createPet(page).getByText('The new Pet with its').waitFor();
    expect(await page.getByRole('button', { name: 'Try it out' }).count()).toBe(0);
    expect(problems).toEqual([]);
    expect(elsewhere()).toEqual([]);

    const links = await page.locator('.info a[href*="api.html"]').evaluateAll((all) => all.map(String));
    expect(links.length).toBeGreaterThan(5);
    for (const link of links) {
      await page.goto(link);
      expect(
        await page.evaluate('location.hash === "" || document.querySelector(location.hash) !== null'),
      ).toBe(true);
    }
    const onward = await page.locator('.guide a[href]').evaluateAll((all) => all.map(String));
    for (const link of onward.filter((each) => each.startsWith(address)))
      expect({ link, status: (await fetch(link)).status }).toEqual({ link, status: 200 });
    expect(problems).toEqual([]);
  });
});

it('No file of the API reference has a key, and its page allows scripts of its own only', async () => {
  const files = referenceFiles('http://127.0.0.1:4321/v1');
  expect(files.get('/api.html')!.body).toContain('export API=http://127.0.0.1:4321/v1');
  for (const path of ['/', '/page.js', '/openapi.yaml'])
    expect(files.get(path)!.body).not.toMatch(/as_local_\w{20}/);
  expect(files.get('/')!.body).toContain("script-src 'self';");
});
