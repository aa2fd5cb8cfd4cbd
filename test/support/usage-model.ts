import type { Limits } from '../../functions/access/plans.ts';
import {
  isRejection,
  suspensionDue,
  suspensionSeconds,
  type Transition,
  type Usage,
} from '../../functions/access/limiter-decisions.ts';

/** The usage after a transition, as the limiter's writes have to leave it in the table. */
export function usageAfter(usage: Usage, transition: Transition, limits: Limits, now: number): Usage {
  const changed = { ...usage, ...change(usage, transition, now) };
  return isRejection(transition) && suspensionDue(changed, limits, now)
    ? { ...changed, suspendedUntil: now + suspensionSeconds }
    : changed;
}

function change(
  { minuteCount, dayCount, rejections }: Usage,
  transition: Transition,
  now: number,
): Partial<Usage> {
  const { minute, day } = transition.windows;
  switch (transition.kind) {
    case 'count':
      return { minuteCount: minuteCount + 1, dayCount: dayCount + 1 };
    case 'startMinute':
      return { minute, minuteCount: 1, rejections: 0, dayCount: dayCount + 1 };
    case 'startDay':
      return { minute, minuteCount: 1, rejections: 0, day, dayCount: 1 };
    case 'startRejecting':
      return { rejectedSince: now, rejectedUntil: transition.fullUntil!, rejections: 0 };
    case 'countRejection':
      return { rejections: rejections + 1 };
    case 'startMinuteRejecting':
      return { minute, minuteCount: 0, rejections: 1 };
    case 'reject':
    case 'suspended':
      return {};
  }
}
