/**
 * A process of its own that runs a bundled function, as an execution environment does. It is forked with the path of the
 * bundle, and answers each event with what the function returns or throws.
 */
import { once } from 'node:events';
import { pathToFileURL } from 'node:url';
import * as z from 'zod/mini';
import { lambdaContext } from './lambda.ts';

const bundle = z.object({ handler: z.custom<(event: unknown, context: unknown) => Promise<unknown>>() });

const { handler } = z.parse(bundle, await import(pathToFileURL(z.parse(z.string(), process.argv[2])).href));
process.send?.('ready');
for (;;) {
  const [event] = (await once(process, 'message')) as unknown[];
  process.send?.(
    await handler(event, lambdaContext()).then(
      (returned) => ({ returned }),
      (error: unknown) => ({ thrown: String(error) }),
    ),
  );
}
