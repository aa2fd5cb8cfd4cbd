import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** A folder for the files of commands, which is removed when the test ends. */
export class Folder {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  /** Its name means something else in a URL. */
  static async make(): Promise<Folder> {
    const path = await mkdtemp(join(tmpdir(), 'pets-tool-ü#%20-'));
    onTestFinished(() => rm(path, { recursive: true }));
    return new Folder(path);
  }

  of(name: string): string {
    return join(this.path, name);
  }

  /** Writes a file. Returns its path. */
  async write(name: string, text: string): Promise<string> {
    await writeFile(this.of(name), text);
    return this.of(name);
  }

  read(name: string): Promise<string> {
    return readFile(this.of(name), 'utf8');
  }

  names(): Promise<string[]> {
    return readdir(this.path);
  }
}
