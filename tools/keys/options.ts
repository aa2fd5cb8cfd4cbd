import { InvalidArgumentError, Option } from '@commander-js/extra-typings';
import { customPlan, customPlanCeiling, planNames } from '../../functions/access/plans.ts';
import { usageError } from './errors.ts';
import { grouped } from './format.ts';
import { isKeyId } from './key-ids.ts';
import { redact } from './output.ts';
import type { PlanLimits } from './records.ts';

/** Parsers of options and arguments, and options that several commands have. */

/** Text that is stored, and printed on terminals later. */
export function line(longest: number): (text: string) => string {
  return (text) => {
    if (redact(text) !== text) throw new InvalidArgumentError('It must not contain an API key.');
    if (/^[^\p{C}\p{Zl}\p{Zp}]*$/u.test(text) && /\S/.test(text) && text.length <= longest) return text;
    throw new InvalidArgumentError(`It must be one line of 1 to ${longest} printable characters.`);
  };
}

export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    if (/^\d+$/.test(text) && Number(text) >= min && Number(text) <= max) return Number(text);
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${grouped(max)}.`);
  };
}

const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** Whole seconds of a duration such as `90s`, `15m`, `24h` or `7d`. @param min seconds */
export function duration(min: number): (text: string) => number {
  return (text) => {
    const [, count, unit = ''] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
    const seconds = Number(count) * (unitSeconds[unit] ?? Number.NaN);
    if (seconds >= min && seconds <= 366 * 86_400) return seconds;
    throw new InvalidArgumentError('It must be a number and a unit, such as 90s, 24h or 7d, at most 366d.');
  };
}

export function cursor(text: string): string {
  if (isKeyId(text)) return text;
  throw new InvalidArgumentError('Not a cursor printed by "list".');
}

export function keyId(text: string): string {
  if (isKeyId(text)) return text;
  throw new InvalidArgumentError(
    text.startsWith('as_')
      ? 'This is an API key, not a key ID. Keys do not belong in a command line. "identify" reads one from standard input and prints its ID.'
      : 'A key ID looks like key_06fz1m4tqabcdefg. "list" shows all IDs.',
  );
}

export const planOption = new Option('--plan <plan>', 'plan of the key (required)')
  .choices(planNames)
  .makeOptionMandatory();
export const perMinuteOption = new Option(
  '--per-minute <n>',
  `requests a minute, required on the ${customPlan} plan (DynamoDB takes 1,000 writes a second for one key)`,
).argParser(wholeNumber(1, customPlanCeiling.perMinute));
export const perDayOption = new Option(
  '--per-day <n>',
  `requests a day, required on the ${customPlan} plan`,
).argParser(wholeNumber(1, customPlanCeiling.perDay));
export const ownerFilter = new Option('--owner <name>', 'only keys of this owner').argParser(line(100));
export const planFilter = new Option('--plan <plan>', 'only keys on this plan').choices(planNames);
export const yesOption = new Option('-y, --yes', 'do not ask for confirmation in prod');

/** Checks that limits are given exactly if the plan is the custom one. @throws KeyToolError */
export function checkLimits({ plan, perMinute, perDay }: PlanLimits): void {
  if (plan !== customPlan) {
    if ((perMinute ?? perDay) === undefined) return;
    throw usageError(
      `--per-minute and --per-day require --plan ${customPlan}: the limits of ${plan} are fixed.`,
    );
  }
  if (perMinute === undefined || perDay === undefined)
    throw usageError(`A key on the ${customPlan} plan requires --per-minute and --per-day.`);
  if (perDay < perMinute)
    throw usageError(`--per-day must be at least --per-minute (got ${perDay} and ${perMinute}).`);
}
