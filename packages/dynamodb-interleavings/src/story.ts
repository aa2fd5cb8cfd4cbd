import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { dirname, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Call } from './call.ts';
import type { Fate } from './faults.ts';
import type { Failure, Outcome, Report } from './options.ts';

/** What a call has met. */
type Step = Failure['steps'][number];

/** Something that has happened, for the text of a failure. */
export interface Entry {
  /** Whose it is, such as `request 1`. Undefined: it is nobody's. */
  readonly name?: string;
  /** By the simulated clock. */
  readonly at: number;
  readonly what: string;
  /** What came of a call. */
  readonly result?: string;
  /** Its stack says which line of the user's code it comes from. */
  readonly origin?: Error | undefined;
  /** How many steps of a polling loop it begins, and how often they are repeated. */
  readonly loop?: { readonly steps: number; readonly times: number };
}

const results: Readonly<Partial<Record<Step['fate'], string>>> = {
  lostBefore: 'lost before DynamoDB gets it',
  lostAfter: 'applied, and the answer is lost',
  late: 'the connection breaks, and the call is still on its way',
  arrives: 'arrives at DynamoDB, although it was given up',
  hungBefore: 'DynamoDB does not get it, and no answer comes',
  hungAfter: 'applied, and no answer comes',
  applied: 'applied, and the answer is on its way',
  resumes: 'the process goes on',
  crashedBefore: 'the process ends before DynamoDB gets it',
  crashedAfter: 'applied, and the process ends',
  paused: 'the process stands still before it',
};
/** What is said beside the answer. */
const notes: Readonly<Partial<Record<Step['fate'], string>>> = {
  unreadableBefore: 'not applied, and something else answers',
  unreadableAfter: 'applied, and something else answers',
  stale: 'without the last writes',
  shortPage: 'a part of the page',
  unprocessed: 'a part of the batch',
};

/** @param fate if it is not the one that it has met */
export function entryOf(call: Call, at: number, fate: Step['fate'] = call.fate!): Entry {
  const { name, origin } = call;
  // It goes on changing. Most entries are never told.
  const [then, { length: done }] = [{ ...call }, call.parts];
  return {
    name,
    at,
    origin,
    get what() {
      return described(then);
    },
    get result() {
      if (results[fate] !== undefined) return results[fate].replace('DynamoDB', then.service);
      if (fate === 'item' || fate === 'left')
        return `item ${done} is ${fate === 'item' ? 'done' : 'left out'}`;
      return `${notes[fate] === undefined ? '' : `${notes[fate]}: `}${answerOf(then)}`;
    },
  };
}

export function entryOfOutcome(outcome: Outcome | undefined, index: number, at: number): Entry {
  const reason = outcome?.status === 'rejected' ? outcome.reason : undefined;
  return {
    name: `request ${index + 1}`,
    at,
    what: outcomeText(outcome),
    origin: reason instanceof Error ? firstCause(reason) : undefined,
  };
}

/** Such as `GetItem Counters {id: "a"}`, or `apigateway POST /apikeys`. */
export function described({ service, operation, table, input }: Call): string {
  if (service !== 'DynamoDB') return `${service} ${operation}`;
  const {
    Key: key,
    Item: item,
    IndexName: index,
    TransactItems: writes,
    RequestItems: batch,
  } = input as Record<string, object> & { IndexName?: string; RequestItems?: Record<string, Batch> };
  const subject = key ?? item;
  const ofBatch = Object.values(batch ?? {}).flatMap((each) =>
    'Keys' in each ? each.Keys.map((one) => ({ Get: { Key: one } })) : each,
  );
  const items = (writes as object[] | undefined) ?? ofBatch;
  const detail = subject ? brief(subject) : index ? `by ${index}` : items.map(describedItem).join(', ');
  return `${operation} ${table} ${detail}`.trimEnd();
}

type Batch = readonly object[] | { readonly Keys: readonly object[] };

/** Such as `Put {id: "a"}`, of a transaction or batch. */
function describedItem(each: object): string {
  const [[kind, { Key: key, Item: item }] = ['', {}]] = Object.entries(
    each as Record<string, { readonly Key?: object; readonly Item?: object }>,
  );
  return `${kind.replace('Request', '')} ${brief(key ?? item ?? {}, 30)}`;
}

function answerOf({ service, operation, outcome = '', fate }: Call): string {
  const [, late = '', status, text = ''] = /^(too late: )?(\d+) (.*)$/s.exec(outcome) ?? [];
  if (status === undefined) return outcome;
  if (service !== 'DynamoDB') return `${late}${status} ${brief(text)}`.trimEnd();
  try {
    const { __type: error, ...output } = JSON.parse(text) as Record<string, object> & { __type?: string };
    if (error !== undefined) return late + error.split('#').at(-1)! + reasonsOf(output, fate);
    const { Items: items, Item: item, Attributes: attributes, LastEvaluatedKey: last, ...rest } = output;
    if (items) return `${late}${many((items as object[]).length, 'item')}${last ? ', and more' : ''}`;
    const told = item ?? attributes ?? (Object.keys(rest).length > 0 ? rest : undefined);
    return late + (told ? brief(told) : operation === 'GetItem' ? 'nothing' : 'done');
  } catch {
    return outcome;
  }
}

/** Why a transaction is cancelled, such as ` (conflict at item 2)` for a fault. */
function reasonsOf({ CancellationReasons: reasons = [] }: Record<string, object>, fate?: Fate): string {
  const isFault = (code: string) =>
    (fate === 'conflict' && code === 'TransactionConflict') ||
    (fate === 'throttled' && /^(Throttl|Provisioned)/.test(code));
  const all = (reasons as readonly { readonly Code: string }[]).flatMap(({ Code: code }, index) =>
    code === 'None' ? [] : [`${isFault(code) ? fate : code} at item ${index + 1}`],
  );
  return all.length === 0 ? '' : ` (${all.join(', ')})`;
}

const many = (count: number, what: string) => `${count} ${what}${count === 1 ? '' : 's'}`;

export function brief(value: object | string, most = 60): string {
  const text = (typeof value === 'string' ? value : JSON.stringify(value))
    .replaceAll(/\{"N":"([^"]*)"\}/g, '$1')
    .replaceAll(/\{"(?:S|BOOL|SS|NS|L|M)":((?:"(?:[^"\\]|\\.)*")|true|false)\}/g, '$1')
    .replaceAll(/"(\w+)":/g, '$1: ')
    .replaceAll(/,(?=\w+: )/g, ', ');
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

/** A value as JSON, with what JSON does not have. */
function jsonOf(value: unknown): string {
  const text = (_: string, each: unknown) => (typeof each === 'bigint' ? `${each}n` : each);
  try {
    return value === undefined ? 'undefined' : JSON.stringify(value, text);
  } catch {
    return String(value);
  }
}

export function outcomeText(outcome: Outcome | undefined): string {
  if (outcome === undefined) return 'does not end';
  if (outcome.status === 'crashed') return 'has crashed';
  if (outcome.status === 'fulfilled') return `returns ${jsonOf(outcome.value)}`;
  const { reason } = outcome;
  const cause = reason instanceof Error ? firstCause(reason) : reason;
  return `fails: ${String(reason)}${cause === reason ? '' : `, because of ${String(cause)}`}`;
}

function firstCause(error: Error): Error {
  return error.cause instanceof Error && error.cause !== error ? firstCause(error.cause) : error;
}

/** By file: of what has been bundled, and of files that name their map. Undefined: it has none. */
export const sourceMaps = new Map<string, SourceMap | undefined>();

/** The map of a file, which is in the file or beside it. */
function sourceMapOf(file: string): SourceMap | undefined {
  if (sourceMaps.has(file)) return sourceMaps.get(file);
  let map: SourceMap | undefined;
  try {
    const [, url] = /^\/\/# sourceMappingURL=(\S+)\s*$/m.exec(readFileSync(file, 'utf8')) ?? [];
    const [, inline] = /^data:.*;base64,(.*)$/.exec(url ?? '') ?? [];
    if (url !== undefined) {
      const text = inline === undefined ? readFileSync(resolve(dirname(file), url), 'utf8') : atob(inline);
      map = new SourceMap(JSON.parse(text) as never);
    }
  } catch {
    // A line of the file itself is better than none.
  }
  sourceMaps.set(file, map);
  return map;
}

/** The folder of this file, or this file if the package is one. */
const own = frames(new Error().stack)[0]?.file.replace(/story\.\w+$/, '');

function frames(stack = ''): { readonly file: string; readonly line: number; readonly column: number }[] {
  return stack.split('\n').flatMap((text) => {
    const [, path, row, column] = /(?:\(|at (?:async )?)([^()]+):(\d+):(\d+)\)?$/.exec(text) ?? [];
    if (path === undefined) return [];
    const file = path.startsWith('file:') ? fileURLToPath(path) : path;
    return { file, line: Number(row), column: Number(column) };
  });
}

/** The first line of a stack that is of no package and not of Node.js, where its source has it. */
function locationOf(origin: Error | undefined): string | undefined {
  const isOurs = (file: string) => own !== undefined && file.startsWith(own);
  for (const { file, line, column } of frames(origin?.stack)) {
    if (isOfOthers(file) || isOurs(file)) continue;
    const entry = sourceMapOf(file)?.findEntry(line - 1, column - 1);
    const isMapped = entry !== undefined && 'originalSource' in entry;
    const source = isMapped ? resolve(dirname(file), entry.originalSource) : file;
    if (!isOfOthers(source))
      return `${relative(process.cwd(), source)}:${isMapped ? entry.originalLine + 1 : line}`;
  }
  return undefined;
}

const isOfOthers = (file: string) => /^node:|[\\/]node_modules[\\/]|^<anonymous>/.test(file);

/** The most steps of a polling loop. */
const longestLoop = 4;

/** Steps that are repeated are there once, with how often. */
function folded(entries: readonly Entry[]): Entry[] {
  const keys = entries.map(({ name, what, result, origin }) =>
    JSON.stringify([name, what, result, locationOf(origin)]),
  );
  const all: Entry[] = [];
  for (let index = 0; index < entries.length;) {
    let [steps, times] = [1, 1];
    for (let length = 1; length <= longestLoop; length += 1) {
      const isEqual = (at: number) =>
        at + length <= keys.length &&
        keys.slice(index, index + length).every((key, each) => key === keys[at + each]);
      let count = 1;
      while (isEqual(index + count * length)) count += 1;
      if (count > 1 && count * length > steps * times) [steps, times] = [length, count];
    }
    const [first, ...others] = entries.slice(index, index + steps);
    all.push({ ...first!, ...(times > 1 && { loop: { steps, times } }) }, ...others);
    index += steps * times;
  }
  return all;
}

const laneOf = (names: readonly string[], name: string | undefined): string =>
  names.map((each) => (each === name ? each.replace('request ', '') : '│')).join(' ');

/** A line for each entry: a lane for each request, what happened, and where in the user's code. */
export function linesOf(entries: readonly Entry[]): string[] {
  const names = namesOf(entries);
  const start = entries[0]?.at ?? 0;
  const takesTime = entries.some(({ at }) => at > start);
  const rows = folded(entries).map(({ name, at, what, result, origin, loop }) => {
    const from = locationOf(origin);
    const time = takesTime ? `${((at - start) / 1000).toFixed(3)} s`.padStart(10) + '  ' : '';
    const repeats = loop ? ` (${loop.steps > 1 ? `${loop.steps} lines, ` : ''}${loop.times} times)` : '';
    const text = `${what}${result === undefined ? '' : ` → ${result}`}${repeats}`;
    return [`${time}${laneOf(names, name)}  ${text}`, from] as const;
  });
  const width = Math.min(110, Math.max(0, ...rows.map(([text, from]) => (from ? text.length : 0))));
  return rows.map(([text, from]) => (from === undefined ? text : `${text.padEnd(width)}  ${from}`));
}

function namesOf(entries: readonly Entry[]): string[] {
  return [...new Set(entries.flatMap(({ name }) => name ?? []))].toSorted((a, b) => (a < b ? -1 : 1));
}

/** How many failures are told beside the shortest one. */
const mostOthers = 4;

/** How far a run that deepens has come: a sentence for each level, and for the schedules at random. */
function reachedOf({ levels, random }: Report): string[] {
  if (levels.length === 0 || (levels.length === 1 && random === 0)) return [];
  const sentences = levels.map(({ faults, schedules, isComplete }) => {
    const what = faults === 0 ? 'Without a fault' : `With at most ${faults} fault${faults === 1 ? '' : 's'}`;
    return `${what}: ${many(schedules, 'schedule')}, ${isComplete ? 'all' : 'not all'}.`;
  });
  return [...sentences, ...(random > 0 ? [`At random: ${many(random, 'schedule')}.`] : [])];
}

/** The shortest failure: its sentence, its trace and how to repeat it. Then those with other sentences. */
export function textOf(report: Report): string {
  const { failure, failures, violations, schedules, bounds, perSecond, isComplete } = report;
  const all = isComplete && schedules > 1 ? 'all ' : '';
  const reached = reachedOf(report);
  if (failure === undefined && reached.length > 0)
    return `no violation. ${reached.join(' ')} ${isComplete ? 'Proved' : 'Not proved'}: ${bounds}.`;
  if (failure === undefined)
    return `${all}${many(schedules, 'schedule')} with ${bounds}, ${Math.round(perSecond)} a second: no violation.`;
  const told = ({ sentence, trace }: Failure) => [sentence, '', ...trace.map((line) => `  ${line}`), ''];
  const others = failures.filter((each) => each !== failure);
  return [
    ...told(failure),
    `${violations} of ${many(schedules, 'schedule')} violate it. To repeat this one: repeat: '${failure.repeat}'`,
    ...(reached.length > 0 ? [reached.join(' ')] : []),
    ...others
      .slice(0, mostOthers)
      .flatMap((each) => ['', 'Another failure:', ...told(each), `To repeat it: repeat: '${each.repeat}'`]),
    ...(others.length > mostOthers ? ['', `${others.length - mostOthers} more are in \`failures\`.`] : []),
  ].join('\n');
}
