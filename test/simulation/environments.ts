import { Bundle } from 'dynamodb-interleavings';
import { functionEntries } from '../../functions/operations.ts';
import { bundleOptions } from '../../lib/bundler/bundle.ts';

export type Handler = (event: unknown, context: unknown) => Promise<unknown>;

const { absWorkingDir, target, mainFields, plugins } = bundleOptions('');

/** The functions as they are bundled, each execution environment with its own modules, random numbers and network. */
export const functions = await Bundle.build({
  entryPoints: Object.fromEntries(functionEntries.map((entry) => [entry, `functions/${entry}.ts`])),
  esbuild: { absWorkingDir, target, mainFields: [...mainFields], plugins: [...plugins], logLevel: 'silent' },
});
