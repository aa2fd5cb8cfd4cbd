import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path/posix';
import { App, type CfnElement, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import type { IConstruct } from 'constructs';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { planNames } from '../../functions/access/plans.ts';
import { operations, unmatchedRoute } from '../../lib/api/routes.ts';
import { Tables } from '../../lib/storage/tables.ts';
import { tableShapes, timeToLiveAttribute } from '../support/table-shapes.ts';

/**
 * The doors that stay shut between the parts of this project. Types count as well: whoever names another's
 * types knows it.
 */
const files: ReadonlyMap<string, string> = new Map(
  globSync('{bin,functions,lib,packages/cdk-offline/src,tools}/**/*.ts').map((path) => [
    path.replaceAll('\\', '/'),
    readFileSync(path, 'utf8'),
  ]),
);

/** What a module imports, for types alone or at run time, whether it does so at once or later. */
function importsOf(path: string): string[] {
  const source = files.get(path) ?? '';
  const specifiers = source.matchAll(
    /(?:^(?:import|export|\}).*\bfrom |^import |\bimport\()['"`]([^'"`\n]+)['"`]/gm,
  );
  return [...specifiers].map(([, specifier = '']) =>
    specifier.startsWith('.') ? join(dirname(path), specifier) : specifier,
  );
}

/** Imports of the modules below `folder`, as `importer -> imported`, that are not among those allowed. */
function forbiddenImports(folder: string, allowed: (imported: string) => boolean): string[] {
  return [...files.keys()]
    .filter((path) => path.startsWith(folder))
    .flatMap((path) =>
      importsOf(path)
        .filter((imported) => isOurs(imported) && !allowed(imported))
        .map((imported) => `${path} -> ${imported}`),
    );
}

function isOurs(imported: string): boolean {
  return /^(?:bin|functions|lib|packages|tools|test|bench)\//.test(imported) || imported.startsWith('..');
}

/** Every module that is loaded when this one is. */
function reachableFrom(entries: readonly string[]): string[] {
  const reached = new Set<string>();
  const visit = (path: string): void => {
    if (reached.has(path) || !files.has(path)) return;
    reached.add(path);
    importsOf(path).forEach(visit);
  };
  entries.forEach(visit);
  return [...reached];
}

const entries = [...operations.map(({ entry }) => entry), unmatchedRoute, 'authorizer'].map(
  (entry) => `functions/${entry}.ts`,
);

/** The package of an import that is not a file's. */
const packageName = (imported: string): string => /^(?:@[^/]+\/)?[^/]+/.exec(imported)?.[0] ?? '';

describe('packages', () => {
  const declared = z
    .object({
      dependencies: z.record(z.string(), z.string()),
      devDependencies: z.record(z.string(), z.string()),
    })
    .parse(JSON.parse(readFileSync('package.json', 'utf8')));
  const importedPackages = [...files.keys()].flatMap((path) =>
    importsOf(path)
      .filter((imported) => !files.has(imported) && !imported.startsWith('node:'))
      .map((imported) => ({ path, name: packageName(imported) })),
  );

  // Another package's dependency may move away with that package's next version.
  test('are declared by the project that imports them, in one version exactly', () => {
    const { dependencies, devDependencies } = declared;
    const versions: Readonly<Record<string, string | undefined>> = {
      ...devDependencies,
      ...dependencies,
      // Types alone, and they come from elsewhere.
      'aws-lambda': devDependencies['@types/aws-lambda'],
    };
    const loose = importedPackages.filter(({ name }) => !/^\d+\.\d+\.\d+$/.test(versions[name] ?? ''));
    expect(loose).toEqual([]);
  });

  test('are all in use where they are part of what is deployed', () => {
    const inFunctions = importedPackages.filter(({ path }) => path.startsWith('functions/'));
    const used = new Set(inFunctions.map(({ name }) => name));
    expect(Object.keys(declared.dependencies).filter((name) => !used.has(name))).toEqual([]);
  });
});

describe('the search for imports', () => {
  test('sees the whole project', () => {
    const folders = [...files.keys()].map((path) => path.split('/')[0]);
    expect(new Set(folders)).toEqual(new Set(['bin', 'functions', 'lib', 'packages', 'tools']));
    expect(importsOf('functions/list-pets.ts')).toEqual(
      expect.arrayContaining(['zod/mini', 'functions/http/pipeline.ts', 'functions/pets/store.ts']),
    );
    // For its type alone.
    expect(importsOf('functions/http/respond.ts')).toContain('aws-lambda');
  });

  test('finds every module that it meets', () => {
    const missing = [...files.keys()].flatMap((path) =>
      importsOf(path)
        .filter((imported) => isOurs(imported) && imported.endsWith('.ts') && !files.has(imported))
        .map((imported) => `${path} -> ${imported}`),
    );
    expect(missing).toEqual([]);
  });
});

describe('functions/', () => {
  test('imports nothing of the other parts', () => {
    expect(forbiddenImports('functions/', (imported) => imported.startsWith('functions/'))).toEqual([]);
  });

  test.each(['functions/pets/', 'functions/access/'])('%s knows nothing beside itself', (folder) => {
    expect(forbiddenImports(folder, (imported) => imported.startsWith(folder))).toEqual([]);
  });

  test('has all its commands to DynamoDB in the folders that own the tables', () => {
    const others = [...files]
      .filter(([path]) => path.startsWith('functions/') && !/^functions\/(?:pets|access)\//.test(path))
      .filter(([, source]) =>
        /\b(?:Get|Put|Query|Scan|Update|Delete|Batch\w+|Transact\w+)Command\b/.test(source),
      )
      .map(([path]) => path);
    expect(others).toEqual([]);
  });

  test('loads nothing at its start that only tools use', () => {
    const reached = reachableFrom(entries);
    expect(reached).toContain('functions/pets/store.ts');
    expect(reached.filter((path) => /key-administration|\/bulk\.ts$/.test(path))).toEqual([]);
  });

  test('holds nothing that neither a function nor a tool uses', () => {
    const rest = [...files.keys()].filter((path) => !path.startsWith('functions/'));
    const used = new Set([...reachableFrom(entries), ...rest.flatMap((path) => reachableFrom([path]))]);
    expect([...files.keys()].filter((path) => path.startsWith('functions/') && !used.has(path))).toEqual([]);
  });
});

describe('lib/', () => {
  test('takes from functions/ the plan table, the error catalogue and the names of metrics only', () => {
    const allowed = new Set([
      'functions/access/plans.ts',
      'functions/http/errors.ts',
      'functions/http/metrics.ts',
    ]);
    const shut = (imported: string) => imported.startsWith('lib/') || allowed.has(imported);
    expect(forbiddenImports('lib/', shut)).toEqual([]);
  });

  test('and the app know nothing of packages/ and tools/', () => {
    const open = (imported: string) => imported.startsWith('lib/');
    expect(forbiddenImports('bin/', open)).toEqual([]);
  });
});

describe('packages/cdk-offline', () => {
  test('imports nothing of the other parts', () => {
    expect(forbiddenImports('packages/', (imported) => imported.startsWith('packages/cdk-offline/'))).toEqual(
      [],
    );
  });

  test('names no route, table or plan of this service', () => {
    const segments = operations
      .flatMap(({ path }) => path.split('/'))
      .map((part) => part.replaceAll(/[{}]/g, ''));
    const attributes = Object.values(tableShapes)
      .flatMap(({ AttributeDefinitions }) => AttributeDefinitions.map(({ AttributeName }) => AttributeName))
      .filter((name) => !['id', 'status', 'plan', 'owner', 'keyId'].includes(name)); // also words of AWS
    const words = [
      ...segments.filter((segment) => segment !== ''),
      ...attributes,
      ...entries
        .map((entry) => entry.replace(/^functions\/(.*)\.ts$/, '$1'))
        .filter((entry) => entry !== 'authorizer'),
      'RateLimits',
      'byStatus',
      'AnimalStore',
      'X-RateLimit',
      'pet',
      'animals?',
    ];
    const quoted = planNames.map((plan) => `['"\`]${plan}['"\`]`);
    const pattern = new RegExp([...words.map((word) => `\\b${word}\\b`), ...quoted].join('|'), 'i');
    // The pattern finds what it looks for where that may stand.
    expect(readFileSync('lib/api/routes.ts', 'utf8')).toMatch(pattern);
    expect("plan: 'free'").toMatch(pattern);
    const found = [...files]
      .filter(([path]) => path.startsWith('packages/'))
      .flatMap(([path, source]) => source.split('\n').map((line) => `${path}: ${line.trim()}`))
      .filter((line) => pattern.test(line));
    expect(found).toEqual([]);
  });
});

describe('the tables that tests make', () => {
  const table = z.object({
    KeySchema: z.array(z.unknown()),
    AttributeDefinitions: z.array(z.object({ AttributeName: z.string(), AttributeType: z.string() })),
    GlobalSecondaryIndexes: z
      .array(z.object({ IndexName: z.string(), KeySchema: z.array(z.unknown()), Projection: z.unknown() }))
      .optional(),
    TimeToLiveSpecification: z.object({ AttributeName: z.string(), Enabled: z.literal(true) }).optional(),
  });
  const stack = new Stack(new App());
  const settings = {
    removalPolicy: RemovalPolicy.DESTROY,
    deletionProtection: false,
    pointInTimeRecovery: false,
  } as const;
  const { pets, apiKeys, rateLimits } = new Tables(stack, 'Tables', settings);
  const resources = new Map(
    Object.entries(Template.fromStack(stack).findResources('AWS::DynamoDB::GlobalTable')),
  );
  const shapeOf = ({ node }: IConstruct): unknown => {
    const id = stack.getLogicalId(node.defaultChild as CfnElement);
    const { Properties } = z.object({ Properties: table }).parse(resources.get(id));
    const { TimeToLiveSpecification: timeToLive, AttributeDefinitions, ...shape } = Properties;
    const byName = AttributeDefinitions.toSorted((a, b) => (a.AttributeName < b.AttributeName ? -1 : 1));
    return { ...shape, AttributeDefinitions: byName, timeToLive: timeToLive?.AttributeName };
  };

  test('have the shapes that the stack gives them', () => {
    expect(shapeOf(pets)).toEqual({ ...tableShapes.Pets, timeToLive: undefined });
    expect(shapeOf(apiKeys)).toEqual({ ...tableShapes.ApiKeys, timeToLive: undefined });
    expect(shapeOf(rateLimits)).toEqual({ ...tableShapes.RateLimits, timeToLive: timeToLiveAttribute });
  });

  test('are all that the stack has', () => {
    expect(resources.size).toBe(Object.keys(tableShapes).length);
  });
});
