import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The fastest tests first: Stryker stops at the first one that fails. */
class FastestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- not an array's method
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => rank(a) - rank(b));
  }
}

const rank = ({ moduleId }: TestSpecification): number =>
  moduleId.includes('/simulation/') ? 2 : moduleId.includes('/rules/') ? 0 : 1;

/** The tests that hold functions/, without those that run it in processes of its own. */
export default defineConfig({
  test: {
    include: [
      'test/deployed/functions/{client,connection}.test.ts',
      'test/rules/{access,dynamodb,http,pets,runtime}/**/*.test.ts',
      'test/service/*.test.ts',
      'test/service/simulation/*.test.ts',
    ],
    sequence: { sequencer: FastestFirst },
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
