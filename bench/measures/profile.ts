import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import * as z from 'zod';
import { stackVariables } from '../harness/fixtures.ts';
import { lambdaVariables } from '../harness/lambda.ts';
import { round } from '../harness/stats.ts';
import { buildOtherWay, buildPeer, deployed, type OtherWay } from '../harness/variants.ts';

export interface ProfileResult {
  /** A package, or what Node.js does. */
  readonly part: string;
  /** Milliseconds on average, by way. */
  readonly milliseconds: Readonly<Record<string, number>>;
}

/** Builds a function into a folder and tells its file. None is minified, so that what runs can be told apart. */
type Build = (directory: string) => Promise<string>;

const listing =
  (way: OtherWay): Build =>
  async (directory) => {
    await buildOtherWay('list-pets', directory, { ...way, options: { minify: false } });
    return join(directory, 'list-pets.mjs');
  };

const ways: Readonly<Record<string, Build>> = {
  empty: async (directory) => {
    await buildPeer('empty.ts', directory);
    return join(directory, 'empty.cjs');
  },
  'without a thought': listing({ client: 'naive-client.ts', fullZod: true }),
  deployed: listing(deployed),
};

const sampleMicroseconds = 100;

/** https://chromedevtools.github.io/devtools-protocol/tot/Profiler/#type-Profile */
const cpuProfile = z.object({
  nodes: z.array(
    z.object({
      id: z.int(),
      callFrame: z.object({ functionName: z.string(), url: z.string() }),
      /** How often which line, counted from 1, was met. */
      positionTicks: z.array(z.object({ line: z.int(), ticks: z.int() })).default([]),
      children: z.array(z.int()).default([]),
    }),
  ),
  samples: z.array(z.int()),
  timeDeltas: z.array(z.int()),
});

/** Where the time goes while the listing loads, by V8's own sampling: what to look at before anything is cut. */
export async function measureProfile(
  rounds: number,
  onProgress: (done: number, of: number) => void,
): Promise<ProfileResult[]> {
  const root = await mkdtemp(join(tmpdir(), 'animal-store-bench-'));
  try {
    const built = new Map<string, Bundle>();
    for (const [index, [name, build]] of Object.entries(ways).entries()) {
      built.set(name, await readBundle(await build(join(root, String(index)))));
    }
    const totals = new Map<string, Record<string, number>>();
    for (let done = 0; done < rounds; done += 1) {
      onProgress(done, rounds);
      for (const [name, bundle] of built) {
        for (const [part, milliseconds] of await profile(bundle, await mkdtemp(join(root, 'profile-')))) {
          const byWay = totals.get(part) ?? {};
          byWay[name] = (byWay[name] ?? 0) + milliseconds / rounds;
          totals.set(part, byWay);
        }
      }
    }
    return [...totals]
      .map(([part, byWay]) => ({
        part,
        milliseconds: Object.fromEntries(Object.keys(ways).map((name) => [name, round(byWay[name] ?? 0)])),
      }))
      .filter(({ milliseconds }) => Math.max(...Object.values(milliseconds)) >= 0.3)
      .toSorted(
        (a, b) => Math.max(...Object.values(b.milliseconds)) - Math.max(...Object.values(a.milliseconds)),
      );
  } finally {
    await rm(root, { recursive: true });
  }
}

interface Bundle {
  readonly url: string;
  /** The part that each line is of. */
  readonly parts: readonly string[];
}

/** esbuild writes the path of each module above it. */
async function readBundle(path: string): Promise<Bundle> {
  // What stands above the first are esbuild's wrappers of modules that are compiled when something first needs them.
  let part = 'modules compiled when first needed';
  const parts = (await readFile(path, 'utf8')).split('\n').map((line) => {
    const module = /^\s*\/\/ (\S+\.(?:ts|js|mjs|cjs)|builtin:\S+)$/.exec(line)?.[1];
    if (module !== undefined) {
      part = /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(module)?.[1] ?? 'this service';
    }
    return part;
  });
  return { url: pathToFileURL(path).href, parts };
}

/** Milliseconds by part of one start. */
async function profile({ url, parts }: Bundle, directory: string): Promise<Map<string, number>> {
  const flags = [
    '--cpu-prof',
    '--cpu-prof-interval',
    String(sampleMicroseconds),
    '--cpu-prof-dir',
    directory,
  ];
  const program = `await import(${JSON.stringify(url)}); process.exit();`;
  await promisify(execFile)(process.execPath, [...flags, '--input-type=module', '--eval', program], {
    env: { ...lambdaVariables, ...stackVariables() },
  });
  const [file = ''] = await readdir(directory);
  const { nodes, samples, timeDeltas } = cpuProfile.parse(
    JSON.parse(await readFile(join(directory, file), 'utf8')),
  );
  const urls = new Map(nodes.map(({ id, callFrame }) => [id, callFrame.url]));
  const parents = new Map(nodes.flatMap(({ id, children }) => children.map((child) => [child, id])));
  const isOfFunction = (id: number | undefined): boolean =>
    id !== undefined && (urls.get(id) === url || isOfFunction(parents.get(id)));
  const selfTimes = new Map<number, number>();
  for (const [index, id] of samples.entries()) {
    selfTimes.set(id, (selfTimes.get(id) ?? 0) + (timeDeltas[index] ?? 0) / 1_000);
  }
  const totals = new Map<string, number>();
  const add = (part: string, milliseconds: number): void =>
    void totals.set(part, (totals.get(part) ?? 0) + milliseconds);
  for (const { id, callFrame, positionTicks } of nodes) {
    const selfTime = selfTimes.get(id) ?? 0;
    const ticks = positionTicks.reduce((sum, position) => sum + position.ticks, 0);
    if (callFrame.url === url && ticks > 0) {
      for (const position of positionTicks) {
        add(parts[position.line - 1] ?? 'this service', (selfTime * position.ticks) / ticks);
      }
    } else if (callFrame.functionName === '(garbage collector)') {
      add('V8: garbage collection', selfTime);
    } else {
      add(
        isOfFunction(id)
          ? 'Node.js, called by the function'
          : 'Node.js: its start, its own modules, reading, compiling',
        selfTime,
      );
    }
  }
  return totals;
}
