import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

/** The budget is two minutes on two cores, so tests that need a server share one. */
export default defineConfig({
  test: {
    // Vitest's default is one fewer than the processors: of two, one would be idle.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    projects: [
      // Pure functions have no state, so files can share loaded modules, which halves the time.
      {
        test: {
          name: 'unit',
          include: ['test/unit/**/*.test.ts', 'packages/*/test/unit/**/*.test.ts'],
          isolate: false,
          testTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'infrastructure',
          include: ['test/infrastructure/**/*.test.ts'],
          // CDK's own template validation takes 4 s in each process. `npm run synth` does it.
          env: { CDK_VALIDATION: 'false' },
          isolate: false,
          testTimeout: 180_000,
          hookTimeout: 180_000,
        },
      },
      {
        test: {
          name: 'integration',
          include: ['test/integration/**/*.test.ts', 'packages/*/test/integration/**/*.test.ts'],
          globalSetup: 'test/integration/global-setup.ts',
          testTimeout: 180_000,
          hookTimeout: 180_000,
        },
      },
      {
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          globalSetup: 'test/e2e/global-setup.ts',
          setupFiles: 'test/e2e/validate-answers.ts',
          testTimeout: 180_000,
          hookTimeout: 180_000,
        },
      },
    ],
  },
});
