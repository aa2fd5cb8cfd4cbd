import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A new directory, which is also removed when the process exits. */
export function temporaryDirectory(parent = tmpdir()): {
  readonly path: string;
  readonly remove: () => Promise<void>;
} {
  const path = mkdtempSync(join(parent, 'cdk-offline-'));
  const remove = (): void => rmSync(path, { recursive: true, force: true });
  process.once('exit', remove);
  return {
    path,
    remove: async () => {
      process.off('exit', remove);
      remove();
    },
  };
}
