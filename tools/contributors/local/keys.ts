import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Limits, Plan } from '../../../functions/access/plans.ts';
import { customPlan, customPlanCeiling, planNames } from '../../../functions/access/plans.ts';
import { createKey } from '../../operators/keys/commands/issue.ts';
import type { KeyService } from '../../operators/keys/service.ts';
import { writePrivateJson } from './private-file.ts';

/** An API key of each plan. */
export type Keys = Readonly<Record<Plan, string>>;

const schema = z.record(z.enum(planNames), z.string());

/** Limits of the Enterprise key, high enough for load tests on this machine. */
export const enterpriseLimits: Limits = { perMinute: customPlanCeiling.perMinute, perDay: 10_000_000 };

/** With a data directory the keys of the first run are reused, because a stored key cannot be shown again. */
export async function seedKeys(service: KeyService, dataDirectory: string | undefined): Promise<Keys> {
  const file = dataDirectory && join(dataDirectory, 'keys.json');
  const kept = file && (await readFile(file, 'utf8').catch(() => undefined));
  if (kept !== undefined)
    return parseKeys(
      file!,
      kept,
      'is damaged. Move it to another folder and start again: new keys are created.',
    );
  const keys: Partial<Record<Plan, string>> = {};
  for (const plan of planNames) {
    const limits = plan === customPlan ? enterpriseLimits : {};
    const request = { owner: 'local', plan, note: 'seeded by npm start', ...limits };
    keys[plan] = (await createKey(service, request)).key;
  }
  const complete = schema.parse(keys);
  if (file !== undefined) await writePrivateJson(file, complete);
  return complete;
}

/** @throws Error when the file does not have a key of each plan */
export function parseKeys(
  file: string,
  text: string,
  problem = `must be a JSON object with a key for each of ${planNames.join(', ')}.`,
): Keys {
  try {
    return schema.parse(JSON.parse(text));
  } catch (error) {
    throw new Error(`${file} ${problem}`, { cause: error });
  }
}
