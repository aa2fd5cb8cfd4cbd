import { join } from 'node:path';
import { build, type BuildOptions, type Metafile } from 'esbuild';
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

/** Bundles a peer as the CDK's NodejsFunction does by default: one CommonJS file, without the SDK, which Lambda has. */
export async function buildPeer(
  file: string,
  directory: string,
  options: BuildOptions = { external: ['@aws-sdk/*', '@smithy/*'] },
): Promise<Built> {
  const { metafile } = await build({
    bundle: true,
    platform: 'node',
    target: 'node24',
    outExtension: { '.js': '.cjs' },
    logLevel: 'error',
    metafile: true,
    entryPoints: [join(variantsDirectory, file)],
    outdir: directory,
    ...options,
  });
  return { directory, bytes: codeBytes(metafile) };
}

/** Bundles the bare handlers with the SDK's client in its default configuration, which is faster than Lambda's SDK. */
export function buildBare(directory: string): Promise<Built> {
  const path = join(variantsDirectory, 'naive-client.ts');
  return buildPeer('bare.ts', directory, {
    minify: true,
    plugins: [
      {
        name: 'replace',
        setup: (bundling) => bundling.onResolve({ filter: /\/own-client\.ts$/ }, () => ({ path })),
      },
    ],
  });
}

function codeBytes(metafile: Metafile | undefined): number {
  return Object.entries(metafile?.outputs ?? {})
    .filter(([path]) => !path.endsWith('.map'))
    .reduce((sum, [, { bytes }]) => sum + bytes, 0);
}
