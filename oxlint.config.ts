import { defineConfig, type OxlintOverride } from 'oxlint';

/** Files of functions/ that the infrastructure imports. */
const shared = [
  'access/keys.ts',
  'access/limiter-decisions.ts',
  'access/plans.ts',
  'http/errors.ts',
  'http/headers.ts',
  'http/metrics.ts',
  'operations.ts',
  'tables.ts',
];

const noCommands = {
  group: ['@aws-sdk/lib-dynamodb', '@aws-sdk/client-dynamodb'],
  importNamePattern: 'Command$',
  message: 'Only the folder of a resource and functions/access/ send commands to DynamoDB.',
};
const onlyFunctions = (regex: string) => ({ regex, message: 'functions/ imports nothing outside itself.' });
const parts = ['functions', 'lib', 'tools', 'bin', 'test', 'bench'].map((name) => `**/${name}/**`);

/** What the files of a folder do not import. The last entry for a file counts. */
const restricted: readonly (readonly [files: string[], ...patterns: object[]])[] = [
  [['functions/*.ts'], onlyFunctions(String.raw`^\.\./`), noCommands],
  [
    ['functions/*/**'],
    {
      group: ['../*', '../*/**', '!../runtime', '!../runtime/unix-time.ts'],
      message:
        'A resource and functions/access/ import nothing outside their folder but runtime/unix-time.ts.',
    },
  ],
  [['functions/http/**'], onlyFunctions(String.raw`^\.\./\.\./`), noCommands],
  [
    ['functions/runtime/**'],
    { group: ['../*', '../*/**'], message: 'functions/runtime/ imports nothing outside itself.' },
  ],
  [
    ['functions/dynamodb/**'],
    {
      group: ['../*', '../*/**', '!../runtime', '!../runtime/*'],
      message: 'functions/dynamodb/ imports only runtime/.',
    },
  ],
  [
    ['functions/delivery/**'],
    {
      group: ['../../*', '../../*/**', '../http', '../http/**'],
      allowTypeImports: true,
      message: 'functions/delivery/ imports what it checks: nothing outside functions/, no code of http/.',
    },
  ],
  [
    ['bin/**', 'lib/**'],
    {
      group: ['**/functions/**', ...shared.map((file) => `!**/functions/${file}`)],
      message: `lib/ takes only ${shared.join(', ')} from functions/.`,
    },
    {
      group: ['tools', 'packages', 'test', 'bench', 'bin'].map((name) => `**/${name}/**`),
      message: 'lib/ and bin/ import nothing of tools/, packages/, test/ and bench/.',
    },
  ],
  [['packages/*/src/**'], { group: parts, message: 'A package imports nothing of the service.' }],
  [
    ['test/**'],
    {
      group: ['**/packages/**'],
      message: 'test/ uses a package as its users do, by its name. Tests of its own files are in its test/.',
    },
  ],
];

export default defineConfig({
  jsPlugins: ['./tools/contributors/lint-assertions.ts'],
  plugins: ['typescript', 'import', 'unicorn', 'oxc', 'promise', 'vitest', 'node'],
  categories: {
    correctness: 'error',
    suspicious: 'error',
    perf: 'error',
  },
  rules: {
    'assertions/no-empty-match': 'error',
    'eslint/max-lines': ['error', 600],
    'eslint/no-restricted-properties': [
      'error',
      {
        property: 'pathname',
        message:
          'Of a file URL it is percent-encoded, which fails in a folder with a space: use fileURLToPath. Disable the rule for HTTP URLs.',
      },
    ],
    'import/no-cycle': [
      'error',
      {
        ignoreTypes: false,
      },
    ],
    'typescript/no-explicit-any': 'error',
    'typescript/no-floating-promises': 'error',
    'typescript/no-misused-promises': 'error',
    'typescript/switch-exhaustiveness-check': 'error',
    'typescript/consistent-type-imports': 'error',
    'eslint/no-await-in-loop': 'off',
    'oxc/no-map-spread': 'off',
    'promise/always-return': 'off',
    'typescript/no-misused-spread': 'off',
    'unicorn/consistent-function-scoping': 'off',
    'vitest/no-conditional-expect': 'off',
    'vitest/require-to-throw-message': 'off',
    'eslint/no-underscore-dangle': 'off',
    'import/no-named-as-default': 'off',
    'typescript/consistent-return': 'off',
    'typescript/no-unsafe-type-assertion': 'off',
  },
  overrides: [
    {
      files: ['bin/**', 'lib/**', 'test/deployed/templates/**'],
      rules: {
        'eslint/no-new': 'off',
      },
    },
    {
      files: ['test/deployed/templates/**'],
      rules: {
        'vitest/expect-expect': [
          'error',
          {
            assertFunctionNames: ['expect', '**.template.*'],
          },
        ],
      },
    },
    ...restricted.map(([files, ...patterns]): OxlintOverride => ({
      files,
      rules: { 'eslint/no-restricted-imports': ['error', { patterns }] },
    })),
  ],
  ignorePatterns: [
    'node_modules',
    'cdk.out',
    '.local',
    'bench/node_modules',
    'packages/dynamodb-interleavings/findings/node_modules',
    'test/deployed/http/generated-clients',
  ],
});
