import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { Limits, Plan } from '../../../functions/access/plans.ts';
import { customPlan, customPlanCeiling, planNames } from '../../../functions/access/plans.ts';
import { hashOfKey } from '../../../functions/access/keys.ts';
import { createKey } from '../../operators/keys/commands/create.ts';
import { isValid, MalformedRecordError, readKey } from '../../operators/keys/records.ts';
import type { KeyService } from '../../operators/keys/service.ts';
import { apiKeySnapshot, type ApiKeyStore, type ApiKeySnapshot } from './api-keys.ts';
import { writePrivate, writePrivateJson } from './private-file.ts';

/** API keys in the folder of `--data`: those that are printed, and all that API Gateway has. */

/** An API key of each plan. */
export type Keys = Readonly<Record<Plan, string>>;

const schema = z.record(z.enum(planNames), z.string());
/** Also of plans that this version does not know. */
const anyKeys = z.record(z.string(), z.string());

/** Limits of the Enterprise key, high enough for load tests on this machine. */
export const enterpriseLimits: Limits = { perMinute: customPlanCeiling.perMinute, perDay: 10_000_000 };

/**
 * With a data directory the keys of the first run are reused, because a stored key cannot be shown again. A plan that was added since, or
 * whose key is not valid any more or on another plan, gets a new key. The keys of plans that this version does not know stay in the file
 * for the version that knows them.
 */
export async function seedKeys(service: KeyService, dataDirectory: string | undefined): Promise<Keys> {
  const file = dataDirectory && join(dataDirectory, 'keys.json');
  const kept = readKept(file, anyKeys, ': new keys are created.') ?? {};
  const issued: Partial<Record<Plan, string>> = {};
  for (const plan of planNames) {
    if (await isUsable(service, plan, kept[plan])) continue;
    const limits = plan === customPlan ? enterpriseLimits : {};
    const request = { owner: 'local', plan, note: 'seeded by npm start', ...limits };
    issued[plan] = (await createKey(service, request)).key;
  }
  const all = { ...kept, ...issued };
  if (file !== undefined && Object.keys(issued).length > 0) writePrivateJson(file, all);
  return schema.parse(Object.fromEntries(planNames.map((plan) => [plan, all[plan]])));
}

async function isUsable(service: KeyService, plan: Plan, text: string | undefined): Promise<boolean> {
  if (text === undefined) return false;
  const key = await readKey(service, hashOfKey(text)).catch((error: unknown) => {
    if (!(error instanceof MalformedRecordError)) throw error;
  });
  return key?.plan === plan && isValid(key, service.now());
}

/** @throws Error when the file does not have a key of each plan */
export function parseKeys(file: string, text: string): Keys {
  return parse(schema, file, text, `must be a JSON object with a key for each of ${planNames.join(', ')}.`);
}

/** API Gateway's keys of an earlier run, if any. @throws Error when the file is damaged */
export function readGatewayKeys(file: string | undefined): ApiKeySnapshot | undefined {
  return readKept(file, apiKeySnapshot, ' without its API keys.');
}

export function writeGatewayKeys(file: string, store: ApiKeyStore): void {
  // Versions of November 2026 require the other fields, and put the keys into their plans again.
  const keys = store.snapshot().keys.map((key) => ({ ...key, tags: {}, updatedAt: key.createdAt }));
  writePrivate(file, JSON.stringify({ keys, bindings: [] }));
}

function readKept<T>(file: string | undefined, of: z.ZodType<T>, outcome: string): T | undefined {
  if (file === undefined || !existsSync(file)) return undefined;
  const problem = `is damaged. Move it to another folder and start again${outcome}`;
  return parse(of, file, readFileSync(file, 'utf8'), problem);
}

function parse<T>(of: z.ZodType<T>, file: string, text: string, problem: string): T {
  try {
    return of.parse(JSON.parse(text));
  } catch (error) {
    throw new Error(`${file} ${problem}`, { cause: error });
  }
}
