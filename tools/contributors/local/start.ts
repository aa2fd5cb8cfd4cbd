import { endWith } from './lifetime.ts';
import { Progress } from './progress.ts';

/** `npm start` and `npm run dev`: the service on this machine, with sample animals and a key for each plan. */

const args = process.argv.slice(2);
const progress = new Progress(args.includes('--quiet'));
let stop = async (): Promise<void> => {};
let isStopping = false;
endWith(async () => {
  isStopping = true;
  progress.end();
  console.log('\nStopping');
  await stop();
});
try {
  // It takes seconds to load on a busy machine.
  const { run } = await import('./run.ts');
  await run(args, progress, (step) => (stop = step));
} catch (error) {
  progress.end();
  // What was under way fails when the service stops.
  if (!isStopping) {
    console.error(`\n${error instanceof Error ? error.message : String(error)}`);
    process.exit(1);
  }
}
