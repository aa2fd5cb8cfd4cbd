import { stat } from 'node:fs/promises';
import { relative } from 'node:path';
import type { OfflineService } from '../service/types.ts';
import type { BuildOutcome, FunctionBuilds, WatchOptions } from './watch.ts';

/**
 * For `watch`: takes the code of functions that are folders of the app, and no bundles, from there again when a file in them
 * changes.
 *
 * @param assembly the folder that is synthesized, whose folders are copies or bundles
 * @param others builds the other functions
 */
export function plainFolders(
  assembly: string,
  others: WatchOptions['functions'],
): NonNullable<WatchOptions['functions']> {
  return async (service) => {
    const folders = new PlainFolders(service, assembly, await others?.(service));
    await folders.findFolders();
    return folders;
  };
}

class PlainFolders implements FunctionBuilds {
  readonly #service: OfflineService;
  readonly #assembly: string;
  readonly #others: FunctionBuilds | undefined;
  #functions: readonly { readonly logicalId: string; readonly name: string; readonly folder: string }[] = [];

  constructor(service: OfflineService, assembly: string, others: FunctionBuilds | undefined) {
    this.#service = service;
    this.#assembly = assembly;
    this.#others = others;
  }

  isOfApp(file: string): boolean {
    if (this.#functions.some(({ folder }) => isIn(folder, file))) return false;
    return this.#others?.isOfApp(file) ?? true;
  }

  async learn(): Promise<void> {
    await this.#others?.learn();
    await this.findFolders();
  }

  async findFolders(): Promise<void> {
    const found = await Promise.all(
      this.#service.functions.map(async ({ logicalId, label: name, source: folder }) => {
        const isFolder = (await stat(folder).catch(() => undefined))?.isDirectory() === true;
        return isFolder && !isIn(this.#assembly, folder) ? [{ logicalId, name, folder }] : [];
      }),
    );
    this.#functions = found.flat();
  }

  async apply(files: readonly string[]): Promise<readonly BuildOutcome[]> {
    const changed = this.#functions.filter(({ folder }) => files.some((file) => isIn(folder, file)));
    const own = changed.map(({ logicalId, name, folder }) =>
      this.#service.replaceCode(logicalId, folder).then(
        () => ({ name, isChanged: true }),
        (error: unknown) => ({ name, isChanged: true, error }),
      ),
    );
    return [...(await Promise.all(own)), ...((await this.#others?.apply(files)) ?? [])];
  }

  async describe(error: unknown): Promise<string | undefined> {
    return this.#others?.describe(error);
  }

  async stop(): Promise<void> {
    await this.#others?.stop();
  }

  get count(): number {
    return this.#functions.length + (this.#others?.count ?? 0);
  }
}

function isIn(folder: string, path: string): boolean {
  return !relative(folder, path).startsWith('..');
}
