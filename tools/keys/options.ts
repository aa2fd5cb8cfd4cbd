import { InvalidArgumentError, Option } from 'commander';
import { customPlan, planNames } from '../../functions/access/plans.ts';
import { KeyToolError } from './errors.ts';
import { parseDuration } from './format.ts';
import { isKeyId } from './key-ids.ts';

/** Options that several commands share, and their parsers. */

export function planOption(description: string): Option {
  return new Option('--plan <plan>', description).choices(planNames);
}

export function limitsOptions(): Option[] {
  return [
    new Option('--per-minute <n>', `requests a minute, required on the ${customPlan} plan`).argParser(
      wholeNumber(1),
    ),
    new Option('--per-day <n>', `requests a day, required on the ${customPlan} plan`).argParser(
      wholeNumber(1),
    ),
  ];
}

export function ownerFilter(): Option {
  return new Option('--owner <name>', 'only keys of this owner').argParser((text) => {
    if (text !== '') return text;
    throw new InvalidArgumentError('It must not be empty.');
  });
}

export function wholeNumber(min: number, max = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
    throw new InvalidArgumentError(`It must be a whole number ${range}.`);
  };
}

const longestDuration = 366 * 86_400;

/** @param min seconds */
export function duration(min: number): (text: string) => number {
  return (text) => {
    const seconds = parseDuration(text);
    if (seconds !== undefined && seconds >= min && seconds <= longestDuration) return seconds;
    throw new InvalidArgumentError(
      'It must be a whole number and a unit, such as 90s, 15m, 24h or 7d, at most 366d.',
    );
  };
}

export function cursor(text: string): string {
  if (isKeyId(text)) return text;
  throw new InvalidArgumentError('It is not a cursor printed by "list".');
}

export function checkKeyId(text: string): string {
  if (isKeyId(text)) return text;
  if (text.startsWith('as_')) {
    throw new KeyToolError(
      'usage',
      'That is an API key, not a key ID. Keys do not belong in a command line. "identify" reads one from standard input and prints its ID.',
    );
  }
  throw new KeyToolError(
    'usage',
    `The key ID must look like key_06fz1m4tqabcdefg (got "${text}"). "list" shows all IDs.`,
  );
}
