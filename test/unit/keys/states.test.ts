import { beforeAll, describe, expect, test } from 'vitest';
import { keysIn, nothing, type State, useWorlds, World } from './world.ts';

/** Each command that changes a key, on a key in each state: what it says is what the key then answers. */

const now = Date.parse('2026-07-02T12:00:30Z');
const ended = { expired: 'expired', revoked: 'revoked' } as const;
/** Unix seconds of the end of suspensions. `good`: until an operator resumes the key. */
const ends = { hour: now / 1000 + 3_600, limiter: now / 1000 + 600, good: 253_402_300_799 };
const time = (seconds: number) => `until ${new Date(seconds * 1000).toISOString().slice(0, 19)}Z`;
const untilTime = (seconds: number) => (seconds === ends.good ? 'indefinitely' : time(seconds));

/** How a key gets into a state. */
const enter = {
  active: async () => {},
  'suspended for an hour': (world) => world.run(['suspend', id, '--for', '1h']),
  'suspended for good': (world) => world.run(['suspend', id]),
  'suspended by the limiter': (world) => use(world, { suspendedUntil: ends.limiter }),
  'suspended no more': (world) => use(world, { suspendedUntil: now / 1000 - 1 }),
  'out of requests': (world) => use(world, { dayCount: 1_000 }),
  'within its rotation': (world) => world.run(['rotate', id, '--overlap', '1h']),
  expired: (world) => world.run(['rotate', id, '--overlap', '1h'], { clock: () => now - 2 * 3_600_000 }),
  revoked: (world) => world.run(['revoke', id]),
} as const satisfies Readonly<Record<string, (world: World) => unknown>>;
type StateName = keyof typeof enter;

const endOf: Readonly<Partial<Record<StateName, number>>> = {
  'suspended for an hour': ends.hour,
  'suspended for good': ends.good,
  'suspended by the limiter': ends.limiter,
};

function use(world: World, usage: object): void {
  const windows = {
    minute: now / 1000 - 30,
    minuteCount: 1,
    day: Date.parse('2026-07-02') / 1000,
    dayCount: 1,
  };
  world.put('RateLimits', { keyHash: world.records[0]!.keyHash, ...windows, ...usage });
}

/** What a key in a state answers. */
function answerIn(state: StateName): string {
  if (state in ended) return 'unauthorized';
  return endOf[state] === undefined ? (state === 'out of requests' ? 'rejected' : 'admitted') : 'suspended';
}

/** Why requests get 429, as the end of a sentence. */
function refusal(state: StateName): string | undefined {
  if (state === 'out of requests')
    return 'has used its limit of the day, so its requests get 429 until 2026-07-03T00:00:00Z';
  const end = endOf[state];
  return end === undefined ? undefined : `is suspended ${untilTime(end)}, so its requests get 429`;
}

/** What a command says, and what the key then answers. Refused: an answer that is `undefined`. */
type Outcome = readonly [said: string, answer: string | undefined];

const suspension =
  (seconds: number, shortens = false) =>
  (state: StateName): Outcome => {
    const end = Math.min(now / 1000 + seconds, ends.good);
    const earlier = endOf[state] ?? 0;
    if (earlier === end) return [`is suspended ${untilTime(end)} already.`, 'suspended'];
    if (earlier > end && !shortens)
      return [
        `is suspended ${untilTime(earlier)}, which is longer. To end that earlier, add --shorten.`,
        undefined,
      ];
    return [
      `is suspended ${untilTime(end)}${earlier ? `, before that ${untilTime(earlier)}` : ''}.`,
      'suspended',
    ];
  };
const rotation =
  (outcome: (state: StateName) => Outcome) =>
  (state: StateName): Outcome =>
    state === 'within its rotation' || state === 'expired'
      ? [`. Rotate that one.`, undefined]
      : outcome(state);

const commands: Readonly<Record<string, (state: StateName) => Outcome>> = {
  'rotate --overlap 1h': rotation((state) => [
    `The old one is valid ${time(ends.hour)}.${refusal(state) === undefined ? '' : ` It ${refusal(state)}.`}\n`,
    answerIn(state),
  ]),
  'rotate --overlap 0s': rotation(() => ['The old one is not valid any more.\n', 'unauthorized']),
  suspend: suspension(Infinity),
  'suspend --for 2h': suspension(7_200),
  'suspend --for 5m': suspension(300),
  'suspend --for 5m --shorten': suspension(300, true),
  resume: (state) => [
    endOf[state] === undefined
      ? `is not suspended.${refusal(state) === undefined ? '\n' : ` It ${refusal(state)}.`}`
      : `is resumed, before that suspended ${untilTime(endOf[state])}.\n`,
    endOf[state] === undefined ? answerIn(state) : 'admitted',
  ],
  'change-plan --plan pro': (state) =>
    endOf[state] === undefined
      ? ['is on the pro plan.\n', 'admitted']
      : [`is on the pro plan. It ${refusal(state)}.\n`, 'suspended'],
  revoke: (state) => [state === 'revoked' ? 'was revoked before.' : 'is revoked.', 'unauthorized'],
};

let id: string;
let key: string;
const states = {} as Record<StateName, State>;
useWorlds(now);
beforeAll(async () => {
  const first = new World(nothing);
  const { stdout } = await first.run(['create', '--owner', 'Ada', '--plan', 'free']);
  key = keysIn(stdout)[0]!;
  id = first.records[0]!.keyId;
  for (const [name, change] of Object.entries(enter)) {
    const world = new World(first.state);
    await change(world);
    states[name as StateName] = world.state;
  }
});
describe.each(Object.entries(commands))('%s', (command, outcomeIn) => {
  test.each(Object.keys(enter) as StateName[])(
    'of a key that is %s says what it then answers',
    async (state) => {
      const world = new World(states[state], []);
      expect(await world.answer(key)).toBe(answerIn(state));
      const before = JSON.stringify(world.records);
      const [name = '', ...options] = command.split(' ');
      const [said, answer] =
        state in ended && name !== 'revoke' && !(name === 'rotate' && state === 'expired')
          ? [`${id} is ${state}, so it cannot be `, undefined]
          : outcomeIn(state);
      const { exitCode, stdout, stderr } = await world.run([name, id, ...options]);
      expect(stderr + stdout).toContain(said);
      expect(exitCode).toBe(answer === undefined ? 4 : 0);
      // A command that is refused changes nothing.
      if (answer === undefined) expect(JSON.stringify(world.records)).toBe(before);
      expect(await world.answer(key)).toBe(answer ?? answerIn(state));
      const issued = keysIn(stdout);
      expect(issued).toHaveLength(name === 'rotate' && answer !== undefined ? 1 : 0);
      for (const next of issued) expect(await world.answer(next)).toBe('admitted');
    },
  );
});
