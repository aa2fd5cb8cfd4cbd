import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

/** The clean-machine budget is two minutes on two cores: the parts that need a server share one of each. */
export default defineConfig({
  test: {
    // One fewer than there are processors is Vitest's own rule: of two, one would be idle.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    projects: [
      // Pure functions leave nothing behind, so files may share what they have loaded: half of the time.
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
