import { defineConfig } from 'vitest/config';

/** Faults, floods and long runs, one file at a time. They take minutes, so `npm test` leaves them out. */
export default defineConfig({
  test: {
    include: ['test/reliability/**/*.test.ts', 'packages/*/test/reliability/**/*.test.ts'],
    globalSetup: 'test/deployed/global-setup.ts',
    setupFiles: 'test/support/property-tests.ts',
    fileParallelism: false,
    testTimeout: 1_800_000,
    hookTimeout: 180_000,
  },
});
