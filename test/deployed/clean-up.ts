import { afterAll, vi } from 'vitest';

/** Setup file of the integration tests, whose files share loaded modules: undoes what a file changed. */
afterAll(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});
