import { join } from 'node:path';
import { build, type Metafile, type Plugin } from 'esbuild';
import { bundle } from '../../lib/bundler/bundle.ts';

const variantsDirectory = join(import.meta.dirname, '..', 'variants');

export interface Built {
  readonly directory: string;
  /** Bytes of code. */
  readonly bytes: number;
}

/** Bundles a function of the service as it is deployed. */
export async function buildFunction(entry: string, directory: string): Promise<Built> {
  return { directory, bytes: codeBytes(await bundle(`functions/${entry}.ts`, directory)) };
}

/** Bundles a peer as one CommonJS file, as most functions are built. */
export async function buildPeer(file: string, directory: string, client?: string): Promise<Built> {
  const { metafile } = await build({
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'cjs',
    outExtension: { '.js': '.cjs' },
    minify: true,
    logLevel: 'error',
    metafile: true,
    entryPoints: [join(variantsDirectory, file)],
    outdir: directory,
    plugins: replacement(client),
  });
  return { directory, bytes: codeBytes(metafile) };
}

function codeBytes(metafile: Metafile | undefined): number {
  return Object.entries(metafile?.outputs ?? {})
    .filter(([path]) => !path.endsWith('.map'))
    .reduce((sum, [, { bytes }]) => sum + bytes, 0);
}

/** Replaces the client of the functions by a file of variants/. */
function replacement(client: string | undefined): Plugin[] {
  if (client === undefined) return [];
  const path = join(variantsDirectory, client);
  return [
    {
      name: 'replace',
      setup: (bundling) => bundling.onResolve({ filter: /\/own-client\.ts$/ }, () => ({ path })),
    },
  ];
}
