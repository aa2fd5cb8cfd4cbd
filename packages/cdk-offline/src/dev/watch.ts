import { resolve } from 'node:path';
import { RestartNeeded } from '../deployment.ts';
import type { OfflineService } from '../offline-service.ts';
import { watchFolders } from './changed-files.ts';
import type { FunctionSources } from './function-builds.ts';

export interface WatchOptions {
  /** Watched with everything in them. */
  readonly folders: readonly string[];
  /** Writes the assembly of the changed app, see `synthesize`. */
  readonly synthesize: (assembly: string) => Promise<void>;
  /** Builds changed functions with esbuild, without a synthesis. When absent every change is synthesized. */
  readonly functions?: FunctionSources | undefined;
  /** Called with what was applied, and with the error of a change that was not. */
  readonly onMessage: (message: string) => void;
}

/**
 * Applies changes to a running service when a file is saved. A change that cannot be applied has no effect.
 *
 * @returns stops watching
 */
export async function watch(service: OfflineService, options: WatchOptions): Promise<() => Promise<void>> {
  const { folders, synthesize, functions, onMessage } = options;
  // A service that does not build functions works without the package esbuild.
  const builds =
    functions && (await (await import('./function-builds.ts')).FunctionBuilds.start(service, functions));

  const applyApp = async (files: readonly string[]): Promise<string[]> => {
    if (builds !== undefined && !files.some((file) => builds.isOfApp(file))) return [];
    await service.update({ assembly: synthesize });
    await builds?.learn();
    return ['the stack'];
  };
  const report = async (step: () => Promise<string[]>): Promise<void> => {
    const startedAt = performance.now();
    try {
      const applied = await step();
      const milliseconds = Math.round(performance.now() - startedAt);
      if (applied.length > 0) onMessage(`Applied ${applied.join(', ')} (${milliseconds} ms)`);
    } catch (error) {
      if (error instanceof RestartNeeded) return onMessage(error.message);
      const message = error instanceof Error ? error.message : String(error);
      onMessage(`${(await builds?.describe(error)) ?? message}\nNot applied: the service goes on as before.`);
    }
  };
  const apply = async (files: readonly string[]): Promise<void> => {
    // Functions first: they take a fraction of a second, a synthesis takes several.
    await report(async () => (await builds?.apply(files)) ?? []);
    await report(() => applyApp(files));
  };
  const stopWatching = watchFolders(
    folders.map((folder) => resolve(folder)),
    apply,
  );
  return async () => {
    await stopWatching();
    await builds?.stop();
  };
}
