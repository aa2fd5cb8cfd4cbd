import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';

/** The key tool finds the most recently started local service in this file. */
const addressFile = join(import.meta.dirname, '..', '..', '.local', 'service.json');

const schema = z.object({ endpoint: z.url() });

/** Writes the address. Removes it when this process exits, unless another service has replaced it. */
export function announceAddress(endpoint: string, file: string = addressFile): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify({ endpoint } satisfies z.infer<typeof schema>)}\n`);
  process.once('exit', () => {
    if (readAddress(file) === endpoint) rmSync(file, { force: true });
  });
}

/** @returns `undefined` when no service was started, or it ended */
export function readAddress(file: string = addressFile): string | undefined {
  try {
    return schema.parse(JSON.parse(readFileSync(file, 'utf8'))).endpoint;
  } catch {
    return undefined;
  }
}
