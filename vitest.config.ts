import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { whyOneDatabase } from './test/support/database.ts';

/** These start whole processes again and again, need a browser or Python, or compare tables in memory with engines once more. */
const slow = [
  'packages/dynamodb-interleavings/test/integration/recorded.test.ts',
  'packages/dynamodb-interleavings/test/integration/tables.test.ts',
  'test/deployed/commands/command-lines.test.ts',
  'test/deployed/commands/local-database.test.ts',
  'test/deployed/http/client-package.test.ts',
  'test/deployed/http/dev.test.ts',
  'test/deployed/http/generated-clients.test.ts',
  'test/deployed/http/keys-guide.test.ts',
  'test/deployed/http/reference.test.ts',
  'test/deployed/http/schemathesis.test.ts',
  'test/deployed/http/start.test.ts',
  'test/deployed/templates/cfn-lint.test.ts',
];

// Every worker and every process that a test starts loads the AWS SDK, the CDK or TypeScript files.
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, 'node_modules/.cache/node-compile-cache');

/** The longest files first: a clean clone has no durations to sort by, and in the end one processor would wait for them. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- not an array's method
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification) =>
      Number(/\/(?:simulation\/|limits\.test|orders\.test|start\.test|dev\.test)/.test(moduleId));
    return sorted.toSorted((a, b) => isLong(b) - isLong(a));
  }
}

/** With this, a property that does not hold says how to repeat it. */
const propertyTests = 'test/support/property-tests.ts';

/** Run on DynamoDB Local, too. */
const testsOfTables = [
  'test/deployed/database/**/*.test.ts',
  'packages/dynamodb-interleavings/test/integration/**/*.test.ts',
];

const whyOne = await whyOneDatabase();

/** Tests that need a server share one, so that all tests fit two cores. */
export default defineConfig(({ mode }) => {
  // Tests that repeat something run all rounds (test/support/rounds.ts).
  if (mode === 'full') process.env['FULL'] = '1';
  const isFullRun = process.env['CI'] !== undefined || process.env['FULL'] !== undefined;
  // Only CI and `npm run test:all` run all. What a call names is run.
  const named = process.argv.slice(2).filter((each) => each.includes('/'));
  const exclude = isFullRun
    ? []
    : slow.filter((file) => !named.some((each) => file.includes(each) || each.endsWith(file)));
  const withDatabase = {
    globalSetup: 'test/deployed/global-setup.ts',
    // Files share loaded modules.
    isolate: false,
    setupFiles: [propertyTests, 'test/deployed/clean-up.ts'],
    testTimeout: 180_000,
    hookTimeout: 180_000,
  };
  return {
    test: {
      // The CDK reports on every stack that a test synthesizes.
      silent: 'passed-only',
      // There are more than processors, because many tests mostly wait for a server or a child process.
      maxWorkers: availableParallelism() + 1,
      sequence: { sequencer: LongestFirst },
      projects: [
        // Pure functions have no state, so files can share loaded modules, which halves the time.
        {
          test: {
            name: 'rules',
            include: ['test/rules/**/*.test.ts', 'packages/*/test/unit/**/*.test.ts'],
            exclude,
            isolate: false,
            setupFiles: propertyTests,
            testTimeout: 60_000,
          },
        },
        {
          // These tests run on tables in memory, and then make the same calls on a real engine.
          test: {
            name: 'service',
            include: ['test/service/**/*.test.ts'],
            provide: isFullRun && whyOne === undefined ? { secondDatabase: 'dynamodb-local' as const } : {},
            ...withDatabase,
            testTimeout: 600_000,
          },
        },
        {
          test: {
            name: 'templates',
            include: ['test/deployed/templates/**/*.test.ts'],
            exclude,
            // CDK's own template validation takes 4 s in each process. `npm run synth` does it.
            env: { CDK_VALIDATION: 'false' },
            // One worker loads CDK, synthesizes and bundles once for all files. They are a group of their own, because projects with
            // different numbers of workers cannot run at the same time.
            isolate: false,
            setupFiles: propertyTests,
            maxWorkers: 1,
            sequence: { groupOrder: 1 },
            testTimeout: 180_000,
            hookTimeout: 180_000,
          },
        },
        {
          test: {
            name: 'deployed',
            include: [
              'test/deployed/{commands,database,functions}/**/*.test.ts',
              'packages/*/test/integration/**/*.test.ts',
            ],
            exclude,
            provide: { whyOneDatabase: whyOne },
            ...withDatabase,
          },
        },
        ...(whyOne === undefined
          ? [
              {
                test: {
                  name: 'dynamodb-local',
                  include: testsOfTables,
                  exclude,
                  provide: { database: 'dynamodb-local' as const },
                  ...withDatabase,
                },
              },
            ]
          : []),
        {
          test: {
            name: 'http',
            include: ['test/deployed/http/**/*.test.ts'],
            exclude,
            globalSetup: 'test/deployed/http/global-setup.ts',
            // Files share loaded modules.
            isolate: false,
            setupFiles: [propertyTests, 'test/deployed/http/validate-answers.ts'],
            testTimeout: 180_000,
            hookTimeout: 180_000,
          },
        },
      ],
    },
  };
});
