import { defineConfig } from 'vitest/config';

/** The tests that hold functions/. */
export default defineConfig({
  test: {
    include: ['test/unit/{access,http,pets}/**/*.test.ts', 'test/unit/dynamodb-client.test.ts'],
    isolate: true,
    testTimeout: 60_000,
  },
});
