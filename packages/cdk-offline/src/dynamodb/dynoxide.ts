import { createRequire } from 'node:module';
import { join } from 'node:path';
import { NotInstalled } from './not-installed.ts';

/** Of the packages `@dynoxide/…`, each with the program for one platform. package.json names the same. */
export const dynoxideVersion = '1.2.1';

const platforms = new Set(['darwin-arm64', 'darwin-x64', 'linux-arm64', 'linux-x64', 'win32-x64']);

/** The program for this platform. @throws NotInstalled */
export function findDynoxide(platform: string = process.platform, arch: string = process.arch): string {
  const name = `@dynoxide/${platform}-${arch}`;
  try {
    const manifest = createRequire(import.meta.url).resolve(`${name}/package.json`);
    return join(manifest, '..', platform === 'win32' ? 'dynoxide.exe' : 'dynoxide');
  } catch (error) {
    if (!platforms.has(`${platform}-${arch}`))
      throw new NotInstalled(`Dynoxide does not run on ${platform}-${arch}.`, undefined, error);
    const advice = `install Dynoxide with "npm install --no-save ${name}@${dynoxideVersion}"`;
    throw new NotInstalled('Dynoxide is not installed.', advice, error);
  }
}

/** The file of all tables. */
export const dynoxideFile = 'dynoxide.db';
