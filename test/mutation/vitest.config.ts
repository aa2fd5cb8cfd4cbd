import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Unit tests first: Stryker stops at the first test that fails, and most mutants need no database. */
class UnitTestsFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- not an array's method
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => rank(a) - rank(b));
  }
}

const rank = ({ moduleId }: TestSpecification): number => (moduleId.includes('/test/unit/') ? 0 : 1);

/** The tests that hold functions/, without those that run it in processes of its own. */
export default defineConfig({
  test: {
    include: [
      'test/unit/{access,http,pets}/**/*.test.ts',
      'test/unit/{dynamodb,runtime}/*.test.ts',
      'test/integration/{handlers,pets}/**/*.test.ts',
      'test/integration/access/limiter.test.ts',
    ],
    globalSetup: 'test/integration/global-setup.ts',
    sequence: { sequencer: UnitTestsFirst },
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
