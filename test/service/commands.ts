import { PassThrough, Writable } from 'node:stream';
import type { Call } from 'dynamodb-interleavings';
import { Bundle, type Network, type World as SimulatedWorld } from 'dynamodb-interleavings/simulation';
import { bundleOptions } from '../../lib/bundler/bundle.ts';
import type { RunTool } from '../../tools/operators/command-line/program.ts';

export interface Run {
  readonly command: string;
  /** Undefined: it runs, or its process has crashed. */
  readonly exitCode: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
  /** The calls of AWS, and what they met. */
  readonly calls: readonly Call[];
}

/** What a command is run in. Without `typed` nobody is there to answer a question. */
export interface Terminal {
  /** What standard input has. With `typed`: somebody types it, then Ctrl-D. */
  readonly piped?: string;
  /** An answer to each question, such as `y\n`. After them, somebody closes the input (Ctrl-D). */
  readonly typed?: readonly string[];
  /** Nobody reads standard output any more. */
  readonly failsToWrite?: boolean;
  /** A person reads what it prints. */
  readonly isTerminal?: boolean;
  /** Aborted by Ctrl-C. */
  readonly interrupted?: AbortSignal;
  /** `--stage local` is not added. */
  readonly stage?: 'as written';
}

const local = {
  endpoint: 'http://127.0.0.1:1',
  credentials: { accessKeyId: 'local', secretAccessKey: 'local', sessionToken: 'local' },
};
const credentials = { AWS_REGION: 'eu-central-1', AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b' };

/** A command, of the stage local unless it names another one. `load` makes ready what `start` runs. */
export function newRun(
  command: string,
  { piped = '', typed, failsToWrite, isTerminal = false, interrupted, stage: given }: Terminal,
) {
  const [tool = '', ...args] = command.trim().split(/ +/);
  const answers = [...(typed ?? [])];
  const stdin = new PassThrough();
  if (typed === undefined || piped !== '') stdin.end(piped);
  const out = collector({ failsToWrite, isTerminal });
  const err = collector({ isTerminal });
  err.stream.on('asked', () => {
    const answer = answers.shift();
    if (answer === undefined) stdin.end();
    else stdin.write(answer);
  });
  const calls: Call[] = [];
  const name = (call: Call) => {
    calls.push(call);
    call.name = `${command}.${calls.length}`;
  };
  const run = {
    command,
    calls,
    exitCode: undefined as number | undefined,
    get stdout() {
      return out.text();
    },
    get stderr() {
      return err.text();
    },
  };
  const load = async (time: SimulatedWorld, network: Network, random: () => number) => {
    const [runTool] = Object.values(
      (await commands()).start(tool, {
        world: time,
        clockOffset: 0,
        random,
        variables: credentials,
        requestHandler: network.handlerFor(command, name, Infinity),
      }),
    );
    const io = {
      stdin,
      stdout: out.stream,
      stderr: err.stream,
      interactive: typed !== undefined,
      ...(interrupted && { interrupted }),
    };
    const hooks = { local, clock: () => time.now };
    const stage = given !== undefined || args.includes('--stage') ? [] : ['--stage', 'local'];
    return () => (runTool as RunTool)([...args, ...stage], io, hooks);
  };
  return { run, load };
}

let built: Promise<Bundle> | undefined;

/** The commands, each run with its own clock, network and random numbers. Built when the first one is run. */
function commands(): Promise<Bundle> {
  const { target, mainFields } = bundleOptions('');
  built ??= Bundle.build({
    entryPoints: { keys: 'tools/operators/keys/cli.ts', pets: 'tools/operators/pets/cli.ts' },
    esbuild: {
      target,
      mainFields: [...mainFields],
      logLevel: 'silent',
      define: { 'import.meta.dirname': JSON.stringify(import.meta.dirname) },
    },
  });
  return built;
}

/** It emits `asked` when a question was written. */
function collector({ failsToWrite = false, isTerminal = false }) {
  let text = '';
  const writable = new Writable({
    write: (chunk, _encoding, done) => {
      if (failsToWrite) return done(new Error('EPIPE'));
      text += String(chunk);
      done();
      if (text.endsWith('[y/N] ')) stream.emit('asked');
      return undefined;
    },
  });
  const stream = Object.assign(writable, { isTTY: isTerminal, columns: 120 });
  stream.on('error', () => {});
  return { stream, text: () => text };
}
