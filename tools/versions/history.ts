import type { StackEvent } from '@aws-sdk/client-cloudformation';
import { z } from 'zod';

/** The versions that served requests at one time, by function. */
type Versions = ReadonlyMap<string, number>;

/** What was live from a time on: after a deployment, which may have failed and been undone, or after a roll back. */
interface State {
  readonly at: Date;
  readonly by: 'deployment' | 'roll back';
  readonly versions: Versions;
  /** The functions whose version it changed. */
  readonly changed: ReadonlySet<string>;
  readonly succeeded: boolean;
}

/** A version that a roll back left. */
export interface Left {
  readonly function: string;
  readonly version: number;
  /** The version that took its place. */
  readonly to: number;
  /** When the last deployment before the roll back ended: CloudFormation's time, not that of the operator's machine. */
  readonly after: Date;
}

export interface History {
  /** Oldest first. */
  readonly states: readonly State[];
  /** Whether it starts with the creation of the stack. */
  readonly isComplete: boolean;
  /** The end of the last deployment. */
  readonly lastEnd: Date;
  /** CloudFormation's status, if a deployment has not ended. */
  readonly inProgress: string | undefined;
  readonly left: readonly Left[];
}

const aliasProperties = z.object({ FunctionVersion: z.string().regex(/^\d+$/).transform(Number) });

/**
 * What was live and when, from the stack's events and the versions that roll backs left. CodeDeploy's history has no
 * staging and no first version, the dates of versions no failures, and `LastUpdatedTime` also changes with a dashboard.
 *
 * @param events as CloudFormation returns them: newest first
 * @param aliasName of the alias that serves requests
 */
export function historyOf(events: readonly StackEvent[], left: readonly Left[], aliasName: string): History {
  const states: State[] = [];
  const live = new Map<string, number>();
  /** The functions that the present deployment has moved, and the version that each has now. */
  let moved: Map<string, number> | undefined;
  /** The version of a change in progress. */
  const wanted = new Map<string, number>();
  let lastEnd = new Date(0);
  let inProgress: string | undefined;

  const add = (state: Pick<State, 'at' | 'by' | 'succeeded'>, versions: Versions): void => {
    const changed = [...versions].filter(([name, version]) => live.get(name) !== version);
    for (const [name, version] of versions) live.set(name, version);
    states.push({ ...state, versions: new Map(live), changed: new Set(changed.map(([name]) => name)) });
  };
  const waiting = left.toSorted((a, b) => a.after.getTime() - b.after.getTime());
  const addRollBacks = (until: Date): void => {
    while (waiting[0] !== undefined && waiting[0].after <= until) {
      const at = waiting[0].after;
      const together = waiting.splice(0, waiting.filter(({ after }) => after <= at).length);
      const versions = new Map(together.map((each) => [each.function, each.to]));
      add({ at, by: 'roll back', succeeded: true }, versions);
    }
  };

  const ordered = events.toReversed();
  // Those after deployments that CloudFormation has forgotten.
  const [first] = ordered;
  if (first?.Timestamp !== undefined) addRollBacks(new Date(first.Timestamp.getTime() - 1));
  for (const event of ordered) {
    const { ResourceType: type, ResourceStatus: status = '', PhysicalResourceId: id = '' } = event;
    const at = event.Timestamp ?? lastEnd;
    if (type === 'AWS::CloudFormation::Stack' && id === event.StackId) {
      const ends = /_(COMPLETE|FAILED)(_CLEANUP_IN_PROGRESS)?$/.test(status);
      inProgress = ends ? undefined : status;
      if (!ends) moved ??= new Map();
      if (ends && moved !== undefined) {
        const succeeded = /^(CREATE|UPDATE|IMPORT)_COMPLETE/.test(status);
        add({ at, by: 'deployment', succeeded }, moved);
        moved = undefined;
      }
      if (ends) {
        lastEnd = at;
        addRollBacks(at);
      }
    }
    // arn:aws:lambda:REGION:ACCOUNT:function:NAME:live
    const [, , , , , , name, alias] = id.split(':');
    if (type !== 'AWS::Lambda::Alias' || name === undefined || alias !== aliasName) continue;
    const properties = event.ResourceProperties ?? '';
    const { data } = aliasProperties.safeParse(properties === '' ? undefined : JSON.parse(properties));
    if (data !== undefined) wanted.set(name, data.FunctionVersion);
    const version = wanted.get(name);
    // An event without its deployment's start: that one is older than CloudFormation's memory.
    if (/^(CREATE|UPDATE)_COMPLETE$/.test(status) && version !== undefined)
      (moved ??= new Map()).set(name, version);
  }
  const isComplete = /^(CREATE|REVIEW)_IN_PROGRESS$/.test(first?.ResourceStatus ?? '');
  return { states, isComplete, lastEnd, inProgress, left };
}

/** Whether a version was left by a roll back, and not deployed again since. */
export function isLeft({ states, left }: History, name: string, version: number): boolean {
  const mark = left.find((each) => each.function === name && each.version === version);
  if (mark === undefined) return false;
  return !states.some(
    ({ at, by, succeeded, changed, versions }) =>
      by === 'deployment' &&
      succeeded &&
      at > mark.after &&
      changed.has(name) &&
      versions.get(name) === version,
  );
}

/** The last deployment that changed what is live. `undefined` if CloudFormation knows none. */
export function lastChange({ states }: History): State | undefined {
  return states.findLast(({ by, changed }) => by === 'deployment' && changed.size > 0);
}

/**
 * The newest state before a state, or a time, that a roll back may return to: no version of it was left by another roll
 * back, and all still exist. `undefined` if there is none.
 */
export function stateBefore(
  history: History,
  before: State | Date,
  exists: (name: string, version: number) => boolean,
): Versions | undefined {
  const { states } = history;
  const index =
    before instanceof Date ? states.findLastIndex(({ at }) => at < before) + 1 : states.indexOf(before);
  const since = new Set(states.slice(index).flatMap(({ changed }) => [...changed]));
  const isPossible = ({ versions }: State): boolean =>
    // A function that changed since, and that CloudFormation does not remember from before.
    [...since].every((name) => versions.has(name)) &&
    [...versions].every(([name, version]) => exists(name, version) && !isLeft(history, name, version));
  return states.slice(0, index).findLast(isPossible)?.versions;
}
