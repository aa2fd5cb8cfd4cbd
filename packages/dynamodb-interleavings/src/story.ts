import type { Call, Fault } from './network.ts';
import type { Outcome, Report } from './options.ts';

/** The shortest failure: its sentence, its trace and how to repeat it. */
export function textOf({ failure, violations, schedules }: Report): string {
  if (failure === undefined) return `${schedules} schedules, no violation.`;
  return [
    failure.sentence,
    ...failure.trace.map((line, index) => `${String(index + 1).padStart(3)}. ${line}`),
    `${violations} of ${schedules} schedules violate it. To repeat this one: repeat: '${failure.repeat}'`,
  ].join('\n');
}

export const phrases: Readonly<Record<Fault, (call: Call) => string>> = {
  lostBefore: () => 'the connection breaks before DynamoDB gets it',
  lostAfter: () => 'DynamoDB applies it, and its answer is lost',
  late: () => 'the connection breaks, and the call is still on its way',
  hungBefore: () => 'DynamoDB does not get it, and no answer comes',
  hungAfter: () => 'DynamoDB applies it, and no answer comes',
  unreadableBefore: ({ outcome }) => `something else than DynamoDB answers: ${outcome}`,
  unreadableAfter: ({ outcome }) => `DynamoDB applies it, and something else answers: ${outcome}`,
  failed: ({ outcome }) => `DynamoDB fails: ${outcome}`,
  throttled: ({ outcome }) => `throttled: ${outcome}`,
  conflict: ({ outcome }) => `conflicts with a transaction: ${outcome}`,
  denied: ({ outcome }) => `denied: ${outcome}`,
  stale: ({ outcome }) => `without the last writes: ${outcome}`,
  shortPage: ({ outcome }) => `only a part of what there is: ${outcome}`,
  unprocessed: ({ outcome }) => `only a part of the batch is done: ${outcome}`,
  crashedBefore: () => 'the process ends before DynamoDB gets it',
  crashedAfter: () => 'DynamoDB applies it, and the process ends',
  paused: () => 'the process stands still before it',
};

export function described({ name: sender, operation, table, input }: Call): string {
  const { TableName: _name, ReturnValues: _values, ...members } = input as Record<string, unknown>;
  const text = JSON.stringify(members).replaceAll(/\{"[SN]":("[^"]*")\}/g, '$1');
  return `${sender}: ${operation} of ${table} ${text.length > 240 ? `${text.slice(0, 240)}…` : text}`;
}

export function outcomeText(outcome: Outcome | undefined, index: number): string {
  if (outcome === undefined) return `request ${index + 1} does not end`;
  if (outcome.status === 'crashed') return `request ${index + 1} has crashed`;
  if (outcome.status === 'rejected') return `request ${index + 1} fails: ${String(outcome.reason)}`;
  return `request ${index + 1} returns ${JSON.stringify(outcome.value)}`;
}
