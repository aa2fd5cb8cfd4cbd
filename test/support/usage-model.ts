import type { Transition, Usage } from '../../functions/access/limiter-decisions.ts';

/** The usage after a transition, as the limiter's writes have to leave it in the table. */
export function usageAfter(usage: Usage, transition: Transition, now: number): Usage {
  return { ...usage, ...change(usage, transition, now) };
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
      return { minute, minuteCount: 1, dayCount: dayCount + 1 };
    case 'startDay':
      return { minute, minuteCount: 1, day, dayCount: 1 };
    case 'startRejecting':
      return { rejectedSince: now, rejections: 0 };
    case 'countRejection':
      return { rejections: rejections + 1, suspendedUntil: transition.suspendedUntil ?? 0 };
    case 'reject':
    case 'suspended':
      return {};
  }
}
