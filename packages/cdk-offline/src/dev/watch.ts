import { resolve } from 'node:path';
import { RestartNeeded } from '../restart-needed.ts';
import type { OfflineService } from '../offline-service.ts';
import { watchFolders } from './changed-files.ts';

/** Builds the functions of a service when their files change. */
export interface FunctionBuilds {
  /** Whether the assembly can depend on the file. */
  isOfApp(file: string): boolean;
  /** Finds the files of the functions and of the app. The service already runs this code. */
  learn(): Promise<void>;
  /** @returns the functions whose code has changed */
  apply(files: readonly string[]): Promise<string[]>;
  /** The text of a build error; `undefined` for other errors. */
  describe(error: unknown): Promise<string | undefined>;
  stop(): Promise<void>;
}

export interface WatchOptions {
  /** Watched with everything in them. */
  readonly folders: readonly string[];
  /** Writes the assembly of the changed app, see `synthesize`. */
  readonly synthesize: (assembly: string) => Promise<void>;
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
  const { folders, synthesize, functions, onMessage } = options;
  const builds = await functions?.(service);

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
