import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { bundle } from '../../../lib/bundler/bundle.ts';
import { functionEntries } from '../../../functions/operations.ts';
import { namesOfTables } from '../../support/variables.ts';

// It is the same folder each time, because nothing tells when the last test file has ended.
const root = 'node_modules/.cache/animal-store-bundles';
await rm(root, { recursive: true, force: true });

/** The bundle of each function, with esbuild's metafile. The test files share their modules, so it is made once. */
export const bundles = await Promise.all(
  functionEntries.map(async (entry) => {
    const directory = join(root, entry);
    return { entry, directory, metafile: await bundle(`functions/${entry}.ts`, directory) };
  }),
);

/** The environment variables that a function needs to load. */
export const environment = {
  AWS_REGION: 'eu-central-1',
  AWS_ACCESS_KEY_ID: 'id',
  AWS_SECRET_ACCESS_KEY: 'secret',
  STAGE: 'prod',
  ...namesOfTables((table) => table),
  LIMITER_TIMEOUT_MS: '1000',
  METRICS_NAMESPACE: 'namespace',
  AUTHORIZER_CACHE_SECONDS: '60',
};
