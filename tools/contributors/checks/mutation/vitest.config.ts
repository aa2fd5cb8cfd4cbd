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
  /\/(integration|deployed)\//.test(moduleId) ? 2 : moduleId.includes('/simulation') ? 1 : 0;

/** The tests that hold functions/, without those that run it in processes of its own. */
export default defineConfig({
  test: {
    include: [
      'test/unit/{access,http,pets}/**/*.test.ts',
      'test/deployed/functions/{client,connection}.test.ts',
      'test/{rules,service}/**/*.test.ts',
      'test/unit/simulation.test.ts',
      'test/integration/{handlers,pets}/**/*.test.ts',
    ],
    globalSetup: 'test/deployed/global-setup.ts',
    sequence: { sequencer: FastestFirst },
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
