import type { History, Options, Outcome, Request } from './options.ts';
import { following, Schedule } from './schedule.ts';
import { brief } from './story.ts';
import type { Tables } from './tables/tables.ts';

/** What happens in a serial order: a request, by its index, or an event, by its name. */
type Part = number | string;

/** A JSON text for each outcome and for each item, with its table. */
interface Result {
  readonly outcomes: readonly string[];
  readonly items: readonly string[];
}

/** A serial result, and which of its values are the same with other random numbers and at another time. */
interface Serial {
  readonly result: Result;
  readonly constants: ReadonlySet<string>;
}

/** An outcome or an item: equal to another one if they differ only in values of their own. */
interface Line {
  readonly masked: string;
  readonly text: string;
}

/** The values and names in a JSON text. */
const tokens = /"(?:[^"\\]|\\.)*"|-?\d[\d.e+-]*/g;
const numberOrTime = /^"?-?[\d.]+"?$|^"\d{4}-\d\d-\d\dT/;
/** Milliseconds by which the same order is run again later: what is not the same then is a time of its own. */
const later = 90_061_001;

/** A check: what is wrong if no order of the requests, one after the other and without faults, gives a result. */
export function serializable<Shared>(
  options: Options<Shared>,
): (history: History<Shared>) => Promise<string | undefined> {
  const { requests, afterwards = [], startsAt = '2026-01-01T00:00:00Z' } = options;
  const known = new Map<string, Promise<Serial | undefined>>();
  const last = afterwards.map((_, index) => requests.length + index);

  /** The result of an order, or undefined if it does not end. */
  async function run(order: readonly Part[], seed: number, delay: number): Promise<Result | undefined> {
    const requestOf = (part: Part): Request<Shared> =>
      typeof part === 'number' ? requests[part]! : async () => options.events![part]!(schedule);
    const serial = {
      ...options,
      requests: [],
      afterwards: [...order.map(requestOf), ...afterwards],
      startsAt: new Date(startsAt).getTime() + delay,
    };
    const parts = [...order, ...last];
    const schedule = new Schedule<Shared>(serial, following([]), { seed, names: parts.map(nameOf) });
    await schedule.run();
    if (schedule.sentence !== undefined) return undefined;
    const outcomes: Outcome[] = [];
    for (const [index, part] of parts.entries())
      if (typeof part === 'number') outcomes[part] = schedule.history.outcomes[index]!;
    return resultOf(outcomes, schedule.tables);
  }

  async function serialOf(order: readonly Part[]): Promise<Serial | undefined> {
    const result = await run(order, 1, 0);
    if (result === undefined) return undefined;
    let constants = new Set<string>();
    // What is stored before can have times: a day later, it could be another result.
    for (const delay of [later, 0]) {
      const other = await run(order, 2, delay);
      if (other === undefined) continue;
      constants = valuesOf(result).intersection(valuesOf(other));
      if (differenceOf(linesOf(result, constants), linesOf(other, constants)).count === 0) break;
    }
    return { result, constants };
  }

  return async ({ outcomes, tables, faults, events }) => {
    const all = [...requests.keys()];
    const hasFailed = (index: number) => faults > 0 && outcomes[index]!.status !== 'fulfilled';
    const found = resultOf(outcomes, tables);
    let nearest = { count: Infinity, text: 'none ends' };
    for (const order of ordersOf(
      [...events, ...all.filter((index) => !hasFailed(index))],
      all.filter(hasFailed),
    )) {
      const key = JSON.stringify(order);
      if (!known.has(key)) known.set(key, serialOf(order));
      const serial = await known.get(key);
      if (serial === undefined) continue;
      const { result, constants } = serial;
      const [expected, actual] = [result, found].map((each) => linesOf(each, constants, hasFailed));
      const { count, text } = differenceOf(expected!, actual!);
      if (count === 0) return undefined;
      const path = order.map(nameOf).join(', then ') || 'no request';
      if (count < nearest.count) nearest = { count, text: `${path}, ${text}` };
    }
    return `The result is not serializable: no order of the requests gives it. The nearest: ${nearest.text}.`;
  };
}

function nameOf(part: Part): string {
  return typeof part === 'number' ? `request ${part + 1}` : part;
}

/** Every order of some parts and any of the others. */
function* ordersOf(some: readonly Part[], others: readonly Part[]): Generator<readonly Part[]> {
  if (some.length === 0) yield [];
  for (const part of [...some, ...others]) {
    const [left, optional] = [some, others].map((parts) => parts.filter((each) => each !== part));
    for (const order of ordersOf(left!, optional!)) yield [part, ...order];
  }
}

function resultOf(outcomes: readonly Outcome[], { contents }: Tables): Result {
  const items = JSON.parse(contents) as [place: string, item: object][];
  return {
    outcomes: outcomes.map((outcome) => JSON.stringify(outcome, comparable)),
    items: items.map(([place, item]) => `${place.split(' ', 1)[0]} ${JSON.stringify(item, comparable)}`),
  };
}

/** Sets and members have no order. */
function comparable(name: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  if (value instanceof Set || (Array.isArray(value) && /^[SNB]S$/.test(name)))
    return [...value].map((each) => JSON.stringify(each, comparable)).toSorted((a, b) => (a < b ? -1 : 1));
  if (Array.isArray(value)) return value;
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function valuesOf({ outcomes, items }: Result): Set<string> {
  const valuesIn = (text: string) => text.match(tokens) ?? [];
  // What is left out of an order has no outcome, and is skipped.
  return new Set([...outcomes.flatMap(valuesIn), ...items.flatMap(valuesIn)]);
}

/**
 * Values of its own are new IDs, which are equal if they are in the same places, so far as an outcome has them, and numbers and times.
 * @param isLeftOut which outcomes can be anything
 */
function linesOf(
  { outcomes, items }: Result,
  constants: ReadonlySet<string>,
  isLeftOut: (index: number) => boolean = () => false,
): Line[] {
  const ids = new Map<string, number>();
  const mask = (text: string, isOutcome: boolean) =>
    text.replaceAll(tokens, (value) => {
      if (constants.has(value)) return value;
      if (numberOrTime.test(value)) return '?';
      if (isOutcome && !ids.has(value)) ids.set(value, ids.size + 1);
      return `ID ${ids.get(value)}`;
    });
  const returned = outcomes.flatMap((text, index) =>
    isLeftOut(index) ? [] : [{ masked: `${index} ${mask(text, true)}`, text: `${nameOf(index)} ${text}` }],
  );
  return [...returned, ...items.map((text) => ({ masked: mask(text, false), text }))];
}

/** In how many lines results differ, and the first one. */
function differenceOf(expected: readonly Line[], actual: readonly Line[]) {
  const [missing, surplus] = [without(expected, actual), without(actual, expected)];
  const [given, found] = [missing[0], surplus[0]].map((line) => {
    const [, subject, text] = /^([^{]*)(.*)$/s.exec(line?.text ?? '')!;
    return line === undefined ? 'nothing' : `${subject}${brief(JSON.parse(text!) as object)}`;
  });
  return { count: missing.length + surplus.length, text: `gives ${given} instead of ${found}` };
}

/** The lines that are not in another list, or not so often. */
function without(lines: readonly Line[], others: readonly Line[]): Line[] {
  const left = others.map(({ masked }) => masked);
  return lines.filter(({ masked }) => {
    const index = left.indexOf(masked);
    if (index >= 0) left.splice(index, 1);
    return index < 0;
  });
}
