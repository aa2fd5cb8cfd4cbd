import { extname } from 'node:path';

/**
 * The file of a module of this package, which another process or thread runs: TypeScript in the repository, JavaScript in
 * the package.
 *
 * @param importer `import.meta.url` of a module in the same folder
 */
export function moduleBeside(importer: string, name: string): URL {
  return new URL(`${name}${extname(importer)}`, importer);
}
