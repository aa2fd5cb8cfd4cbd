import { createRequire } from 'node:module';
import { join } from 'node:path';

/** Of the packages `@dynoxide/…`, each with the program for one platform. package.json names the same. */
export const dynoxideVersion = '1.2.1';

/** The program for this platform. @throws Error that says what to install */
export function findDynoxide(platform: string = process.platform, arch: string = process.arch): string {
  const name = `@dynoxide/${platform}-${arch}`;
  try {
    const manifest = createRequire(import.meta.url).resolve(`${name}/package.json`);
    return join(manifest, '..', platform === 'win32' ? 'dynoxide.exe' : 'dynoxide');
  } catch (error) {
    const advice = `npm install --no-save ${name}@${dynoxideVersion}`;
    throw new Error(`Dynoxide is not installed. Install it with "${advice}".`, { cause: error });
  }
}

/** The file of all tables. */
export const dynoxideFile = 'dynoxide.db';
