import { z } from 'zod';
import { stageSettings, type StageSettings } from './settings.ts';
import { presets, type StageName, stageNames } from './stages.ts';

/** Invalid configuration. The message lists every error in one line. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
}

/**
 * Keys that the commands of deployments set. They have a colon, so that versions which do not know them ignore them.
 *
 * - `commit`: what the stack's output `Commit` has.
 * - `unknownSettings`: `left-out` if a setting that this version does not know is a warning, for a roll back with today's settings.
 */
export const contextKeys = {
  commit: 'animal-store:commit',
  unknownSettings: 'animal-store:unknown-settings',
} as const;

/** What to synthesize: the stacks `<name>-<stage>`. */
export interface Configuration {
  /** The first part of every stack's name. Copies in one account and Region need different names. */
  readonly name: string;
  readonly stages: ReadonlyMap<StageName, StageSettings>;
  /** The address of the repository, for links in alarms. */
  readonly repository: string | undefined;
  /** Whether to deploy account-stack.ts. */
  readonly accountSettings: 'managed' | 'existing';
  /** The repository whose workflows deploy, see delivery-stack.ts. Undefined: no roles. */
  readonly github: { readonly repository: string; readonly providerExists: boolean } | undefined;
  /** The commit of the code, if a command gave it. */
  readonly commit: string | undefined;
}

const given = z.record(z.string(), z.unknown());
const byStage = <T extends z.ZodType>(value: T) =>
  z.preprocess(parseIfText, z.partialRecord(z.enum(stageNames), value));

const managedOrExisting = z.enum(['managed', 'existing'], 'must be "managed" or "existing"');

const context = z.strictObject({
  name: z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9-]{0,63}$/, 'must be 1 to 64 letters, digits and hyphens, with a letter first')
    .default('AnimalStore'),
  stage: z.enum(stageNames, `must be one of ${stageNames.join(', ')}`).optional(),
  repository: z.url('must be a URL, such as https://github.com/owner/repository').optional(),
  // The role of an account that has one stays.
  accountSettings: managedOrExisting.default('existing'),
  github: z
    .string()
    // Tokens of repositories created since the summer of 2026 also contain IDs.
    // https://github.blog/changelog/2026-04-23-immutable-subject-claims-for-github-actions-oidc-tokens
    .regex(/^[\w.-]+(@\d+)?\/[\w.-]+(@\d+)?$/, 'must be owner/repository')
    .optional(),
  githubProvider: managedOrExisting.default('managed'),
  /** `null`: there is no such stage. */
  stages: byStage(given.nullable()).default({}),
  overrides: byStage(given).default({}),
});
export type ContextKey = keyof z.infer<typeof context>;

/**
 * docs/settings.md and docs/delivery.md explain the keys. `overrides` changes settings on top of `stages`, for one deployment, because
 * `-c stages=…` would replace all of cdk.json's `stages`. @throws ConfigurationError
 */
export function readConfiguration(all: Readonly<Record<string, unknown>>): Configuration {
  const parse = all[contextKeys.unknownSettings] === 'left-out' ? parseWithoutUnknown : parseStrictly;
  const { stage, stages, overrides, github, githubProvider, ...parsed } = parse(
    context,
    'context',
    ownKeys(all),
  );
  const chosen: readonly StageName[] = stage === undefined ? ['staging', 'prod'] : [stage];
  const names = chosen.filter((name) => stages[name] !== null);
  if (names.length === 0)
    throw new ConfigurationError(`context.stages: ${chosen.join(' and ')} must not be null.`);
  const settingsOf = (name: StageName): StageSettings =>
    parse(stageSettings, `stages.${name}`, merge(merge(presets[name], stages[name]), overrides[name]));
  return {
    name: parsed.name,
    repository: parsed.repository?.replace(/\/$/, ''),
    stages: new Map(names.map((name) => [name, settingsOf(name)])),
    accountSettings: parsed.accountSettings,
    commit: z.string().optional().parse(all[contextKeys.commit]),
    github:
      github === undefined
        ? undefined
        : { repository: github, providerExists: githubProvider === 'existing' },
  };
}

/** The value of the key `overrides` with further settings of a stage. @throws ConfigurationError */
export function withOverrides(
  all: Readonly<Record<string, unknown>>,
  stage: StageName,
  settings: Partial<StageSettings>,
): string {
  const { overrides } = parseStrictly(context, 'context', ownKeys(all));
  return JSON.stringify({ ...overrides, [stage]: { ...overrides[stage], ...settings } });
}

/** Leaves out the CDK's keys (`@aws-cdk/…`, `aws:cdk:…`, `cli-telemetry`, lookups), which all have a character that is not in \w. */
function ownKeys(all: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(all).filter(([key]) => /^\w*$/.test(key)));
}

/** Whether a key of the context says how to deploy. The others, the CDK's flags, belong to the code. */
export function isSetting(key: string): boolean {
  return /^\w*$/.test(key) || key === '@aws-cdk/core:bootstrapQualifier';
}

/** Leaves out what the schema does not know, and says so. */
function parseWithoutUnknown<T extends z.ZodType>(schema: T, path: string, value: unknown): z.infer<T> {
  const known = structuredClone(value);
  const issues = schema.safeParse(known).error?.issues ?? [];
  for (const issue of issues) {
    if (issue.code !== 'unrecognized_keys') continue;
    const owner = issue.path.reduce((at: unknown, key) => (at as Record<PropertyKey, unknown>)[key], known);
    for (const key of issue.keys) {
      delete (owner as Record<string, unknown>)[key];
      console.error(
        `warning: This version does not know ${[path, ...issue.path, key].join('.')}, so it is left out.`,
      );
    }
  }
  return parseStrictly(schema, path, known);
}

function parseStrictly<T extends z.ZodType>(schema: T, path: string, value: unknown): z.infer<T> {
  const result = schema.safeParse(value, { error: unknownKey });
  if (result.success) return result.data;
  const errors = result.error.issues.map((issue) => `${[path, ...issue.path].join('.')}: ${issue.message}`);
  throw new ConfigurationError(`${errors.join('; ')}. Change it in cdk.json under "context", or in -c.`);
}

/** The message about a key that is not known, with those that are. */
const unknownKey: z.core.$ZodErrorMap = (issue) => {
  if (issue.code !== 'unrecognized_keys') return undefined;
  const names = issue.keys.map((key) => `"${key}"`).join(', ');
  return `${names} is not known here. Known are ${knownKeys(issue.inst).join(', ')}`;
};

function knownKeys(schema: unknown): readonly unknown[] {
  if (schema instanceof z.ZodObject) return Object.keys(schema.shape);
  return schema instanceof z.ZodRecord && schema.keyType instanceof z.ZodEnum ? schema.keyType.options : [];
}

/** Values from `-c` are text. */
function parseIfText(value: unknown, check: z.RefinementCtx): unknown {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value);
  } catch (error) {
    // The parser's message quotes the text, which can have several lines.
    const reason = String(error instanceof Error ? error.message : error).replaceAll(/\s+/g, ' ');
    check.addIssue(`must be valid JSON: ${reason}`);
    return z.NEVER;
  }
}

/** Objects are merged key by key, everything else is replaced, `null` removes. */
function merge(base: unknown, changes: unknown): unknown {
  if (changes === undefined) return base;
  if (changes === null) return undefined;
  if (!isObject(changes)) return changes;
  const merged: Record<string, unknown> = isObject(base) ? { ...base } : {};
  for (const [key, value] of Object.entries(changes)) merged[key] = merge(merged[key], value);
  return merged;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
