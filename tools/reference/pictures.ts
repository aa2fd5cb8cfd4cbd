import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { chromium, type Page } from 'playwright-core';

/** `npm run docs:pictures`: takes the pictures in docs/images from the page that `npm start` serves. */

const project = join(import.meta.dirname, '..', '..');
const executablePath = process.env['CHROMIUM'] ?? '/usr/bin/chromium';
/** The address that the pictures show. */
const shown = 'http://127.0.0.1:3000';

async function picture(page: Page, address: URL, name: string, operation?: string): Promise<void> {
  await page.route(`${shown}/**`, async (route) => {
    const response = await route.fetch({ url: route.request().url().replace(shown, address.origin) });
    await route.fulfill({ response, body: (await response.text()).replaceAll(address.origin, shown) });
  });
  await page.goto(`${shown}/${address.hash}`);
  if (operation !== undefined) {
    const section = page.locator(`section[id="${operation}"]`);
    await section.getByLabel('Body').fill('{\n  "name": "Rex",\n  "categoryId": 9223372036854775807\n}');
    // The first request of a service is slow.
    for (let request = 0; request < 2; request += 1) {
      await section.getByRole('button', { name: 'Send request' }).click();
      await section.getByText(/: 201 in/).waitFor();
    }
    await page.getByRole('navigation').locator(`[href="#${operation}"]`).click();
    await page.mouse.move(0, 0);
    await page.locator(`nav a[href="#${operation}"][aria-current]`).waitFor();
  }
  await page.screenshot({ path: join(project, 'docs', 'images', `reference-${name}.png`) });
}

const service = spawn(process.execPath, ['tools/run.mjs', 'start', '--port', '0', '--quiet'], {
  cwd: project,
  stdio: ['ignore', 'pipe', 'inherit'],
});
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
try {
  for await (const line of createInterface(service.stdout)) {
    const [, found] = /^API reference: (http:\S+)$/.exec(line) ?? [];
    if (found === undefined) continue;
    const address = new URL(found);
    const [width, height] = [1280, 800];
    const dark = await browser.newPage({ viewport: { width, height }, colorScheme: 'dark' });
    await picture(dark, address, 'introduction');
    const light = await browser.newPage({ viewport: { width, height: 870 }, colorScheme: 'light' });
    await picture(light, address, 'operation', 'createPet');
    console.log('Wrote docs/images/reference-introduction.png and reference-operation.png');
    break;
  }
} finally {
  service.kill();
  await browser.close();
}
