import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';

const packages = z.record(
  z.string(),
  z.object({ optionalDependencies: z.record(z.string(), z.string()).optional() }),
);
const manifest = z.object({
  dependencies: z.record(z.string(), z.string()).optional(),
  devDependencies: z.record(z.string(), z.string()).optional(),
});
const lockFile = z.object({ packages });

/** Where Node.js would find a package from another's folder, the nearest first (Node.js, "Loading from node_modules folders"). */
function candidates(from: string, name: string): string[] {
  const steps = from === '' ? [] : from.split('/node_modules/');
  return [
    ...steps.map((_, index) => [...steps.slice(0, steps.length - index), name].join('/node_modules/')),
    `node_modules/${name}`,
  ];
}

/** Optional packages, such as another platform's binaries, that a lock wants and does not hold. */
function missingFrom(lock: z.infer<typeof packages>): string[] {
  return Object.entries(lock).flatMap(([from, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies)
      .filter((name) => !candidates(from, name).some((path) => path in lock))
      .map((name) => `${from} wants ${name}`),
  );
}

describe('a package lock', () => {
  // npm leaves other platforms' binaries out of a lock that it makes where they are not installed
  // (https://github.com/npm/cli/issues/4828), and `npm ci` then refuses the lock, or installs nothing that runs there.
  it.each(['package-lock.json', 'bench/package-lock.json', 'tools/checks/package-lock.json'])(
    'at %s holds every platform’s optional packages',
    async (path) => {
      const { packages: lock } = lockFile.parse(JSON.parse(await readFile(path, 'utf8')));
      expect(missingFrom(lock)).toEqual([]);
    },
  );

  it('is found wanting when it leaves one out', () => {
    const optionalDependencies = { 'a-linux': '1.0.0', 'a-windows': '1.0.0' };
    expect(
      missingFrom({
        'node_modules/b/node_modules/a': { optionalDependencies },
        'node_modules/b/node_modules/a-linux': {},
      }),
    ).toEqual(['node_modules/b/node_modules/a wants a-windows']);
  });
});

describe.each(
  globSync(['package.json', 'packages/*/package.json', 'bench/package.json', 'tools/checks/package.json']),
)('%s', (path) => {
  it('names one exact version of each dependency', async () => {
    const { dependencies, devDependencies } = manifest.parse(JSON.parse(await readFile(path, 'utf8')));
    const versions = Object.entries({ ...dependencies, ...devDependencies });
    // A workspace of this project has no other version.
    const loose = versions.filter(([, version]) => !/^\d+\.\d+\.\d+$|^\*$/.test(version));
    expect(loose).toEqual([]);
  });
});
