import { resolve } from 'node:path';
import type { AssemblySource, OfflineService } from '../service/types.ts';
import { RestartNeeded } from '../service/restart-needed.ts';
import { watchFolders } from './changed-files.ts';

/** What became of one function. */
export interface BuildOutcome {
  readonly name: string;
  /** Whether its code differs from the code that is served. */
  readonly isChanged: boolean;
  /** Why it was not replaced. */
  readonly error?: unknown;
}

/** Builds the functions of a service when their files change. */
export interface FunctionBuilds {
  /** Whether the assembly can depend on the file. */
  isOfApp(file: string): boolean;
  /** Finds the files of the functions and of the app. The service already runs this code. */
  learn(): Promise<void>;
  /** Builds and replaces the functions that the files belong to. */
  apply(files: readonly string[]): Promise<readonly BuildOutcome[]>;
  /** The text of a build error; `undefined` for other errors. */
  describe(error: unknown): Promise<string | undefined>;
  stop(): Promise<void>;
  /** How many functions it can build. */
  readonly count: number;
}

export interface WatchOptions {
  /** Watched with everything in them. */
  readonly folders: readonly string[];
  /** Leaves out files and folders. */
  readonly isIgnored?: ((path: string, isFile: boolean) => boolean) | undefined;
  /**
   * When the synthesis of what is served started, in milliseconds since the Unix epoch: what was saved later is applied at
   * once. Now when absent.
   */
  readonly since?: number | undefined;
  /** Writes the assembly of the changed app, see `synthesize`. */
  readonly synthesize: Exclude<AssemblySource, string>;
  /**
   * Builds changed functions without a synthesis, see `cdk-offline/esbuild`. When absent every change is synthesized.
   */
  readonly functions?: ((service: OfflineService) => Promise<FunctionBuilds>) | undefined;
  /** Called with what was applied, and with the error of a change that was not. */
  readonly onMessage: (message: string) => void;
}

/**
 * Applies changes to a running service when a file is saved. A change that cannot be applied has no effect.
 *
 * @returns stops watching
 */
export async function watch(service: OfflineService, options: WatchOptions): Promise<() => Promise<void>> {
  const { folders, isIgnored = () => false, since = Date.now(), synthesize, functions, onMessage } = options;
  const builds = await functions?.(service);

  /** The names of what differs from the files because its change was refused. */
  const refused = new Set<string>();
  const textOf = async (error: unknown): Promise<string> =>
    (await builds?.describe(error)) ?? (error instanceof Error ? error.message : String(error));

  const stack = 'the stack';
  /** Any file may be the reason. */
  let isSynthesisFailed = false;
  const updateStack = async (): Promise<readonly BuildOutcome[]> => {
    try {
      isSynthesisFailed = false;
      await service.update({ assembly: synthesize });
      await builds?.learn();
      // It has the functions, too. What differs from the files again is built next.
      refused.clear();
      return [{ name: stack, isChanged: true }];
    } catch (error) {
      isSynthesisFailed = !(error instanceof RestartNeeded);
      return [{ name: stack, isChanged: true, error }];
    }
  };
  /** @returns the names of what was tried */
  const report = async (step: () => Promise<readonly BuildOutcome[]>): Promise<string[]> => {
    const startedAt = performance.now();
    const outcomes = await step();
    const milliseconds = Math.round(performance.now() - startedAt);
    const failed = outcomes.filter(({ error }) => error !== undefined);
    const done = outcomes.filter(({ error }) => error === undefined);
    const applied = done.filter(({ isChanged }) => isChanged);
    const undone = done.filter(({ name, isChanged }) => !isChanged && refused.has(name));
    for (const { name } of done) refused.delete(name);
    for (const { name } of failed) refused.add(name);
    if (applied.length > 0) onMessage(`${clock()} Applied ${namesOf(applied)} (${milliseconds} ms)`);
    if (undone.length > 0) onMessage(`Undone: ${namesOf(undone)} is served as the files say.`);
    if (failed.length > 0) {
      // Functions share files, and so they share errors.
      const reasons = new Set(await Promise.all(failed.map(({ error }) => textOf(error))));
      onMessage(
        `${[...reasons].join('\n')}\nNot applied: ${namesOf(failed)}. The service goes on as before.`,
      );
    }
    return outcomes.map(({ name }) => name);
  };
  const reportStill = (tried: readonly string[]): void => {
    const still = [...refused].filter((name) => !tried.includes(name));
    if (tried.length > 0 && still.length > 0) onMessage(`Still not applied: ${still.join(', ')}.`);
  };
  const applyFunctions = (files: readonly string[]) => report(async () => (await builds?.apply(files)) ?? []);
  const needsSynthesis = (files: readonly string[]): boolean =>
    files.some((file) => isSynthesisFailed || builds?.isOfApp(file) !== false);
  let isAppChanged = false;
  let applyingApp: Promise<void> | undefined;
  /** The synthesis may have read them before or after. */
  const savedMeanwhile = new Set<string>();
  const applyApp = async (): Promise<void> => {
    while (isAppChanged) {
      isAppChanged = false;
      savedMeanwhile.clear();
      const tried = await report(updateStack);
      reportStill([...tried, ...(await applyFunctions([]))]);
      // A function that is not built any more is served as the synthesis read it.
      isAppChanged ||= needsSynthesis([...savedMeanwhile]);
    }
  };
  const apply = async (files: readonly string[]): Promise<void> => {
    const isOfApp = needsSynthesis(files);
    for (const file of files) savedMeanwhile.add(file);
    const tried = await applyFunctions(files);
    if (!isOfApp) {
      reportStill(tried);
      return;
    }
    // Functions do not wait for it: they take a fraction of a second, a synthesis takes several.
    isAppChanged = true;
    applyingApp ??= applyApp().finally(() => {
      applyingApp = undefined;
    });
  };
  const stopWatching = await watchFolders(
    folders.map((folder) => resolve(folder)),
    { isIgnored, since, isRepeated: () => refused.size > 0 },
    apply,
    (error) => onMessage(`Changes may be missed: ${String(error)}`),
  );
  return async () => {
    await stopWatching();
    isAppChanged = false;
    await applyingApp;
    await builds?.stop();
  };
}

function namesOf(outcomes: readonly BuildOutcome[]): string {
  return outcomes.map(({ name }) => name).join(', ');
}

/** As in the line of a request. */
function clock(): string {
  return new Date().toTimeString().slice(0, 8);
}
