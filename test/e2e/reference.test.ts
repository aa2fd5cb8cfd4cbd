import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { isLocal } from './support.ts';

const chromiumPath = process.env['CHROMIUM'] ?? '/usr/bin/chromium';
const installed = existsSync(chromiumPath);
if (!installed) {
  console.warn(
    `The tests of the API reference are skipped: there is no ${chromiumPath}. Install Debian's package chromium.`,
  );
}

const screenshots = '.local/screenshots';

async function runTool(args: readonly string[], done: RegExp): Promise<string> {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill());
  let output = '';
  for await (const chunk of child.stdout) {
    output += String(chunk);
    const found = done.exec(output)?.[1];
    if (found !== undefined) return found;
  }
  throw new Error(`${args.join(' ')} ended without ${String(done)}: ${output}`);
}

describe.runIf(isLocal && installed)('The API reference', () => {
  let browser: Browser;

  beforeAll(async () => {
    await mkdir(screenshots, { recursive: true });
    browser = await chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox'] });
  });
  afterAll(() => browser?.close());

  /** A page with what it requested and what it reported. */
  async function open(url: string) {
    const page = await browser.newPage({ viewport: { width: 1280, height: 1000 } });
    const requested: string[] = [];
    const problems: string[] = [];
    page.on('request', (request) => requested.push(request.url()));
    page.on('console', (message) => {
      if (message.type() === 'error') problems.push(message.text());
    });
    page.on('pageerror', (error) => problems.push(String(error)));
    await page.goto(url);
    await page.locator('#operations-Pets-listPets').waitFor();
    return { page, requested, problems };
  }

  async function expectOperations(page: Page): Promise<void> {
    const operations = page.locator('.opblock');
    const paths = await operations
      .locator('.opblock-summary-path, .opblock-summary-path__deprecated')
      .allInnerTexts();
    expect(paths.map((path) => path.replaceAll('\u200b', ''))).toEqual(['/pets', '/pets', '/pets/{petId}']);
    expect(await page.locator('.opblock-deprecated').getAttribute('id')).toBe('operations-Pets-getPet');
    expect(await page.locator('.opblock-deprecated').count()).toBe(1);
  }

  it('is served by npm start, lists the operations, and its first request is one click', async () => {
    const url = await runTool(
      ['tools/run.mjs', 'start', '--port', '0', '--quiet'],
      /^API reference: (http:\S+\/)$/m,
    );
    const { page, requested, problems } = await open(url);
    await expectOperations(page);

    const operation = page.locator('#operations-Pets-listPets');
    await operation.getByRole('button', { name: 'Execute' }).click();
    const answer = operation.locator('.live-responses-table');
    await answer.locator('.response-col_status').getByText('200').waitFor();
    const headers = await answer.locator('.headerline').allInnerTexts();
    for (const name of [
      'x-ratelimit-limit: 300',
      'x-ratelimit-remaining: 299',
      'ratelimit:',
      'ratelimit-policy:',
    ]) {
      expect(headers.join('\n')).toContain(name);
    }
    await page.screenshot({ path: join(screenshots, 'reference.png'), fullPage: true });

    expect(requested.filter((each) => !each.startsWith(url) && !each.startsWith('data:'))).toEqual([]);
    expect(problems).toEqual([]);
  });

  it('is written by npm run docs as a static site, which holds no key and sends nothing', async () => {
    const file = await runTool(
      ['tools/run.mjs', 'docs', join(screenshots, 'site')],
      /^Wrote the API reference to (.+)$/m,
    );
    const { page, requested, problems } = await open(pathToFileURL(file).href);
    await expectOperations(page);
    expect(await page.getByRole('button', { name: 'Execute' }).count()).toBe(0);
    await page.screenshot({ path: join(screenshots, 'reference-static.png') });
    expect(requested.filter((each) => !each.startsWith('file:') && !each.startsWith('data:'))).toEqual([]);
    expect(problems).toEqual([]);
  });
});
