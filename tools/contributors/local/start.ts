import { exitCodes, ToolError } from '../../operators/command-line/errors.ts';
import { printable } from '../../operators/command-line/output.ts';
import { endWith } from './lifetime.ts';
import { Progress } from './progress.ts';

/** `npm start` and `npm run dev`: the service on this machine, with sample animals and a key for each plan. */

const args = process.argv.slice(2);
const progress = new Progress(args.includes('--quiet'));
/** What ends, in the reverse order of the start. */
const ending = new AsyncDisposableStack();
let isStopping = false;
endWith(async () => {
  isStopping = true;
  progress.end();
  console.log('\nStopping');
  await ending.disposeAsync();
});
try {
  // It takes seconds to load on a busy machine.
  const { run } = await import('./run.ts');
  await run(args, progress, ending);
} catch (error) {
  progress.end();
  // What was under way fails when the service stops.
  if (!isStopping) {
    const text = error instanceof Error ? error.message : String(error);
    console.error(`\n${text.split('\n').map(printable).join('\n')}`);
    process.exit(error instanceof ToolError ? exitCodes[error.kind] : exitCodes.failed);
  }
}
