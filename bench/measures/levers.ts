import type { Variant } from '../harness/build.ts';
import { type ByModel, type OnRound, Session, type Subject } from '../harness/cold-starts.ts';
import { round } from '../harness/stats.ts';

/** What the first response costs more without one choice about the bundle, as medians over the rounds. */
export interface Lever {
  readonly without: string;
  /** Milliseconds. */
  readonly response: ByModel;
  /** Processor time in milliseconds. */
  readonly cpu: number;
  readonly kilobytes: number;
}

const levers: readonly (readonly [string, { readonly variant?: Variant; readonly memory?: number }])[] = [
  [
    'client assembled from parts: the SDK’s own',
    { variant: { client: 'explicit-client.ts', options: { plugins: [] } } },
  ],
  ['modules left out', { variant: { options: { plugins: [] } } }],
  ['zod/mini', { variant: { options: { alias: { 'zod/mini': 'zod' } } } }],
  ['minification', { variant: { options: { minify: false } } }],
  ['1,769 MB: 1,024 MB', { memory: 1_024 }],
];

/** The gain of each choice about the function, for `list-pets`. */
export async function measureLevers(rounds: number, onRound: OnRound): Promise<readonly Lever[]> {
  return Session.run(async (session) => {
    const deployed = await session.function('list-pets');
    const variants: Subject[] = [];
    for (const [name, options] of levers)
      variants.push(await session.function('list-pets', { name, ...options }));
    const starts = await session.start([deployed, ...variants], rounds, onRound);
    return variants.map((subject) => ({
      without: subject.name,
      response: starts.median([subject, deployed], (other, ours) => other.response - ours.response),
      cpu: starts.median([subject, deployed], (other, ours) => other.cpu - ours.cpu).burst,
      kilobytes: round((subject.built.bytes - deployed.built.bytes) / 1_000),
    }));
  });
}
