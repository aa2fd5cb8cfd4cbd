import { InvalidArgumentError, Option } from '@commander-js/extra-typings';
import { customPlan, customPlanCeiling, planNames } from '../../../functions/access/plans.ts';
import * as operator from '../command-line/stage-command.ts';
import { ToolError, usageError } from '../command-line/errors.ts';
import { isKeyId } from './key-ids.ts';
import { type AdministeredKey, findKeyById, isValid, type PlanLimits } from './records.ts';
import type { KeyService } from './service.ts';

/** What commands of the key tool share: how they look up their key, and their options. */

export type Open = operator.Open<KeyService>;

/** A command about one key. */
export function keyCommand(name: string, summary: string, example = '', details = '') {
  const command = operator.stageCommand(
    name,
    summary,
    `key_06fz1m4tqabcdefg --stage prod ${example}`.trim(),
    details,
  );
  return command.argument('<key-id>', 'ID of the key', keyId);
}

/** @throws ToolError if there is no such key */
export async function lookUp(service: KeyService, id: string): Promise<AdministeredKey> {
  return operator.existing(await findKeyById(service, id), `Key ${id}`, service.stage);
}

/** @param now Unix seconds @param participle what cannot be done with others, such as `rotated` */
export function expectValid(key: AdministeredKey, now: number, participle: string): void {
  if (isValid(key, now)) return;
  const state = key.status === 'active' ? 'expired' : key.status;
  throw new ToolError('refused', `${key.keyId} is ${state}, so it cannot be ${participle}.`);
}

/** A key as a question names it. */
export function nameOf({ keyId: id, owner, plan }: AdministeredKey): string {
  return `${id} (${owner}, ${plan})`;
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

function keyId(text: string): string {
  if (isKeyId(text)) return text;
  throw new InvalidArgumentError('A key ID looks like key_06fz1m4tqabcdefg. "list" shows all IDs.');
}

export const planOption = new Option('--plan <plan>', 'plan of the key (required)')
  .choices(planNames)
  .makeOptionMandatory();
export const perMinuteOption = new Option(
  '--per-minute <n>',
  `requests a minute, required on the ${customPlan} plan (DynamoDB takes 1,000 writes a second for one key)`,
).argParser(operator.wholeNumber(1, customPlanCeiling.perMinute));
export const perDayOption = new Option(
  '--per-day <n>',
  `requests a day, required on the ${customPlan} plan`,
).argParser(operator.wholeNumber(1, customPlanCeiling.perDay));
export const ownerFilter = new Option('--owner <name>', 'only keys of this owner').argParser(
  operator.line(100),
);
/** The message if no key has this owner. */
export function unknownOwnerText(stage: string, owner: string): string {
  return operator.noMatch(`Stage ${stage}`, `keys of the owner "${owner}"`);
}

/** @param matches keys of the owner that a filter names, whatever other filters leave out */
export function noteUnknownOwner(
  { service, output }: operator.Session<KeyService>,
  owner: string | undefined,
  matches: number,
): void {
  if (owner !== undefined && matches === 0) output.note(unknownOwnerText(service.stage, owner), 'yellow');
}

export const planFilter = new Option('--plan <plan>', 'only keys on this plan').choices(planNames);

/** Checks that limits are given exactly if the plan is the custom one. @throws ToolError */
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
