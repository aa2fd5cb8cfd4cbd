// Builds the package into dist/. Packages are packed and published from there: this folder has no version, so npm refuses
// to pack it, with and without install scripts.
import { execFileSync } from 'node:child_process';
import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const tsc = here('../../node_modules/typescript/bin/tsc');

rmSync(here('dist'), { recursive: true, force: true });
execFileSync(process.execPath, [tsc, '--project', here('tsconfig.build.json')], { stdio: 'inherit' });

const { private: _, scripts: __, ...manifest } = JSON.parse(readFileSync(here('package.json'), 'utf8'));
const { version } = await import('./dist/version.js');

// npm's provenance requires the repository that publishes the package.
const { GITHUB_REPOSITORY: name } = process.env;
const home = `https://github.com/${name}`;
const links = name && {
  repository: { type: 'git', url: `git+${home}.git`, directory: 'packages/client' },
  homepage: `${home}/tree/main/packages/client#readme`,
  bugs: `${home}/issues`,
};

const entry = { types: './index.d.ts', default: './index.js' };
// `main` and `types` are for resolvers that do not read `exports`.
const entries = { main: entry.default, types: entry.types, exports: { '.': entry } };

for (const file of ['LICENSE', 'README.md']) copyFileSync(here(file), here(`dist/${file}`));
// Last, so that a build that failed cannot be packed.
const published = { ...manifest, version, ...links, ...entries };
writeFileSync(here('dist/package.json'), `${JSON.stringify(published, null, 2)}\n`);
