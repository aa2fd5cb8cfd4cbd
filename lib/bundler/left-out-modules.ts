import { existsSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { build as esbuild, type Plugin } from 'esbuild';
import { leftOutModules } from '../../functions/dynamodb/left-out.ts';

/** @throws Error if a module has moved, because an update of the SDK needs a review */
export function leftOut(): Plugin {
  return {
    name: 'left-out',
    setup(build) {
      const modules = join(build.initialOptions.absWorkingDir ?? '', 'node_modules');
      for (const module of Object.keys(leftOutModules)) {
        const path = join(modules, module);
        if (!existsSync(path))
          throw new Error(`${module} does not exist: update functions/dynamodb/left-out.ts`);
        // esbuild resolves symbolic links.
        const file = realpathSync(path);
        // The filter is a Go regular expression, and a path may contain any character, so it is compared here.
        build.onLoad({ filter: /\.js$/ }, async (args) =>
          args.path === file ? { contents: await throwing(file), loader: 'js' } : undefined,
        );
      }
    },
  };
}

/** A module with the same exports, which throw. */
async function throwing(file: string): Promise<string> {
  const { metafile } = await esbuild({ entryPoints: [file], write: false, metafile: true, format: 'esm' });
  return Object.values(metafile.outputs)
    .flatMap((output) => output.exports)
    .map((name) => `export const ${name} = function () { throw new Error('${name} is left out') };`)
    .join('\n');
}
