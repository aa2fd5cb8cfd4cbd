// Builds the package of the working directory into its dist/, or into the folder given: JavaScript, declarations and a
// manifest. Packages are packed and published from there: the source folder has no version, so npm refuses to pack it, with
// and without install scripts.
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const tsc = fileURLToPath(new URL('../node_modules/typescript/bin/tsc', import.meta.url));
const [, , target = 'dist'] = process.argv;
rmSync(target, { recursive: true, force: true });
// The record of an incremental compilation would say that the files of the last build are still there.
const everything = ['--incremental', 'false', '--tsBuildInfoFile', 'null'];
execFileSync(
  process.execPath,
  [tsc, '--project', 'tsconfig.build.json', '--outDir', resolve(target), ...everything],
  { stdio: 'inherit' },
);

const source = JSON.parse(readFileSync('package.json', 'utf8'));
const { private: _, scripts: __, devDependencies: ___, ...manifest } = source;
const { version } = await import(pathToFileURL(resolve('src/version.ts')).href);

// npm's provenance requires the repository that publishes the package. Where it is unknown the package is private, so that
// npm refuses to publish it.
const { GITHUB_REPOSITORY: repository = repositoryOfClone() } = process.env;
const home = `https://github.com/${repository}`;
const folder = `packages/${basename(process.cwd())}`;
const links = repository
  ? {
      repository: { type: 'git', url: `git+${home}.git`, directory: folder },
      homepage: `${home}/tree/main/${folder}#readme`,
      bugs: `${home}/issues`,
    }
  : { private: true };

/** `./src/index.ts` becomes `./index.js`. */
const built = (path, extension) => path.replace(/^\.\/src\//, './').replace(/\.ts$/, extension);
const entriesOf = (paths, entry) =>
  Object.fromEntries(Object.entries(paths).map(([key, path]) => [key, entry(path)]));
const nodeCheck = checkOfNode(manifest);
const bin = manifest.bin && { bin: entriesOf(manifest.bin, command) };
const format = manifest.exports['.'].require === undefined ? esModules() : await bothFormats();
// `main` and `types` are for resolvers that do not read `exports`.
const [ofIndex, ofRequire] = [format.exports['.'], format.exports['.'].require];
const ofMain = {
  main: ofRequire.default ?? ofRequire,
  types: ofRequire.types ?? ofIndex.types,
};

for (const file of ['LICENSE', 'CHANGELOG.md']) copyFileSync(file, join(target, file));
// Links to files of the repository lead there from npm, too. Without its address they are text.
const readme = readFileSync('README.md', 'utf8').replaceAll(
  /\[([^\]]+)\]\((\.\.?\/[^)]+)\)/g,
  (_link, text, path) =>
    repository ? `[${text}](${new URL(path, `${home}/blob/main/${folder}/`).href})` : text,
);
writeFileSync(join(target, 'README.md'), readme);
// This comes last, so that a build that failed cannot be packed.
const published = { ...manifest, version, ...links, ...ofMain, ...format, ...bin };
writeFileSync(join(target, 'package.json'), `${JSON.stringify(published, null, 2)}\n`);

/** The JavaScript of the compiler, a file for each source. Each entry begins with the check of Node.js. */
function esModules() {
  writeFileSync(join(target, 'node-check.cjs'), nodeCheck);
  const exports = entriesOf(manifest.exports, (path) => {
    const [declarations, imported, common] = ['.d.ts', '.js', '.cjs'].map((end) => built(path, end));
    const check = relative(dirname(imported), 'node-check.cjs');
    const file = join(target, imported);
    writeFileSync(file, `import './${check}';\n${readFileSync(file, 'utf8')}`);
    // An older Node.js cannot require the module itself.
    const text = `require('./${check}');\nmodule.exports = require('./${basename(imported)}');\n`;
    writeFileSync(join(target, common), text);
    return { types: declarations, require: common, default: imported };
  });
  return { type: 'module', exports };
}

/** A file that runs a command if this Node.js can. */
function command(path) {
  const file = built(path, '.cjs');
  const [check, script] = ['./node-check.cjs', `./${basename(path, '.ts')}.js`];
  const text = `#!/usr/bin/env node
try {
  require('${check}');
} catch {
  process.exit(1);
}
import('${script}');
`;
  writeFileSync(join(target, file), text);
  return file;
}

/** Prints which Node.js is needed, before anything that an older one cannot load. For both module systems. */
function checkOfNode({ name, engines }) {
  const needed = engines.node.replace('>=', '');
  const [major, minor = 0] = needed.split('.');
  return `{
  const { node, bun, deno } = globalThis.process?.versions ?? {};
  const [major, minor] = (node ?? '').split('.').map(Number);
  if (!bun && !deno && (major < ${major} || (major === ${major} && minor < ${minor}))) {
    const message = \`${name} needs Node.js ${needed} or later (this is \${node}).\`;
    console.error(message);
    throw new Error(message);
  }
}
`;
}

/**
 * Files for each module system. Entries share one bundle, so that what one sets the others see. The declarations are CommonJS, which
 * both can import.
 */
async function bothFormats() {
  const { build } = await import('esbuild');
  const sources = Object.entries(manifest.exports).map(([key, { import: path }]) => [key, path]);
  const names = sources.map(([, path]) => basename(path, '.ts'));
  const isOne = sources.length === 1;
  const options = {
    ...(isOne
      ? { entryPoints: [sources[0][1]] }
      : {
          stdin: {
            contents: sources.map(([, path]) => `export * from '${path}';`).join('\n'),
            resolveDir: '.',
          },
        }),
    bundle: true,
    platform: 'neutral',
    target: 'es2022',
    packages: 'external',
    banner: { js: nodeCheck },
  };
  // What is imported is loaded before anything in the file, so the check is the first import.
  writeFileSync(join(target, 'node-check.cjs'), nodeCheck);
  const ofImported = manifest.dependencies && { banner: { js: "import './node-check.cjs';" } };
  const file = isOne ? names[0] : 'entries';
  await build({ ...options, format: 'cjs', outfile: join(target, `${file}.js`) });
  await build({ ...options, ...ofImported, format: 'esm', outfile: join(target, `${file}.mjs`) });
  // TypeScript below 5.0 rejects imports of `./name.ts`, which the compiler leaves in declarations.
  for (const each of readdirSync(target).filter((path) => path.endsWith('.d.ts'))) {
    const declarations = readFileSync(join(target, each), 'utf8');
    writeFileSync(join(target, each), declarations.replaceAll(/(['"]\.\/[\w-]+\.)ts(?=['"])/g, '$1js'));
  }
  const exports = {};
  for (const [index, [key, path]] of sources.entries()) {
    const name = names[index];
    if (!isOne) {
      const { metafile } = await build({
        ...options,
        stdin: undefined,
        entryPoints: [path],
        format: 'esm',
        write: false,
        metafile: true,
      });
      const list = Object.values(metafile.outputs)[0].exports.join(', ');
      writeFileSync(join(target, `${name}.mjs`), `export { ${list} } from './${file}.mjs';\n`);
      const text = `const { ${list} } = require('./${file}.js');\nmodule.exports = { ${list} };\n`;
      writeFileSync(join(target, `${name}.js`), text);
    }
    writeFileSync(join(target, `${name}.d.mts`), `export * from './${name}.js';\n`);
    exports[key] = {
      import: { types: `./${name}.d.mts`, default: `./${name}.mjs` },
      require: { types: `./${name}.d.ts`, default: `./${name}.js` },
    };
  }
  return { type: 'commonjs', exports };
}

/** `owner/name` on GitHub that this repository was cloned from, if any. */
function repositoryOfClone() {
  const { stdout } = spawnSync('git', ['config', '--get', 'remote.origin.url'], { encoding: 'utf8' });
  return /github\.com[:/]([\w.-]+\/[\w.-]+?)(?:\.git)?\s*$/.exec(stdout ?? '')?.[1];
}
