import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Bundle } from 'dynamodb-interleavings/simulation';
import type { hashOfKey, newKey } from '../../../functions/access/keys.ts';
import type { limitsOf, planNames } from '../../../functions/access/plans.ts';
import { functionEntries } from '../../../functions/operations.ts';
import { bundleOptions } from '../../../lib/bundler/bundle.ts';
import { describedQueries } from '../../support/used-operations.ts';
import { checkOut, findEarlier, hasOtherPackages } from './earlier.ts';

export type Handler = (event: unknown, context: unknown) => Promise<unknown>;

/** The functions as they are bundled, each execution environment with its own modules, random numbers and network. */
export interface Version {
  /** The commit or tag, such as `v1.0.0`. Undefined: the work tree. */
  readonly commit?: string;
  readonly bundle: Bundle;
  /** The functions that it has. */
  readonly entries: ReadonlySet<string>;
  /** The parameters of queries that it describes, such as `GET /pets?limit`. */
  readonly queries: ReadonlySet<string>;
}

/** The module of the bundle that makes API keys. */
export const keyFormat = 'access/keys';
export interface KeyFormat {
  readonly newKey: typeof newKey;
  readonly hashOfKey: typeof hashOfKey;
}

/** The module of the bundle that has the plans of a version. */
export const planList = 'access/plans';
export interface PlanList {
  readonly planNames: typeof planNames;
  readonly limitsOf: typeof limitsOf;
}

async function versionIn(folder: string, commit?: string): Promise<Version> {
  const { target, mainFields, plugins } = bundleOptions('');
  const entries = [...functionEntries, keyFormat, planList].filter((entry) =>
    existsSync(join(folder, 'functions', `${entry}.ts`)),
  );
  const bundle = await Bundle.build({
    entryPoints: Object.fromEntries(entries.map((entry) => [entry, `functions/${entry}.ts`])),
    esbuild: {
      absWorkingDir: folder,
      target,
      mainFields: [...mainFields],
      plugins: [...plugins],
      logLevel: 'silent',
    },
  });
  return {
    ...(commit !== undefined && { commit }),
    bundle,
    entries: new Set(entries),
    queries: new Set(describedQueries(folder)),
  };
}

const project = join(import.meta.dirname, '..', '..', '..');
export const current = await versionIn(project);
/** The version that runs beside the current one. */
export const earlier = await earlierVersion();

async function earlierVersion(): Promise<Version | undefined> {
  // Vitest shows nothing that a passed test logs.
  const say = (text: string) => process.stderr.write(`${text}\n`);
  const { EARLIER: given } = process.env;
  const found = findEarlier(project, given);
  if ('reason' in found) {
    say(`The simulation runs one version: ${found.reason}.`);
    return undefined;
  }
  const { commit } = found;
  const packages = hasOtherPackages(project, commit) ? ', with the packages of this package-lock.json' : '';
  const folder = checkOut(project, commit);
  try {
    const version = await versionIn(folder, commit);
    say(`The simulation runs two versions: the functions of ${commit} beside these${packages}.`);
    return version;
  } catch (error) {
    const problem = `The functions of ${commit} cannot be built${packages}`;
    if (given) throw new Error(`${problem}. EARLIER=COMMIT names another commit.`, { cause: error });
    say(`The simulation runs one version. ${problem}: ${String(error)}`);
    return undefined;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
