import { z } from 'zod';
import { stageSettings, type StageSettings } from './settings.ts';
import { presets, type StageName, stageNames } from './stages.ts';

/** A mistake in the configuration. Its message is one line for whoever made it. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
}

/** What to synthesize: the stacks `<name>-<stage>`. */
export interface Configuration {
  /** The first part of every stack's name: copies in one account and Region need names of their own. */
  readonly name: string;
  readonly stages: ReadonlyMap<StageName, StageSettings>;
  /** Whether the stack of what an account and Region has once is ours to deploy, see account-stack.ts. */
  readonly accountSettings: 'managed' | 'existing';
  /** The repository whose workflows deploy, see delivery-stack.ts. Left out: no roles for any. */
  readonly github: { readonly repository: string; readonly providerExists: boolean } | undefined;
}

const settingsByStage = z.preprocess(
  parseIfText,
  z.partialRecord(z.enum(stageNames), z.record(z.string(), z.unknown())),
);

const context = z.strictObject({
  name: z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9-]{0,63}$/, 'must be 1 to 64 letters, digits and hyphens, with a letter first')
    .default('AnimalStore'),
  stage: z.enum(stageNames, `must be one of ${stageNames.join(', ')}`).optional(),
  accountSettings: z.enum(['managed', 'existing'], 'must be "managed" or "existing"').default('managed'),
  github: z
    .string()
    // With ids where the repository's tokens bear them: those made since the summer of 2026 do.
    // https://github.blog/changelog/2026-04-23-immutable-subject-claims-for-github-actions-oidc-tokens
    .regex(/^[\w.-]+(@\d+)?\/[\w.-]+(@\d+)?$/, 'must be owner/repository')
    .optional(),
  githubProvider: z.enum(['managed', 'existing'], 'must be "managed" or "existing"').default('managed'),
  stages: settingsByStage.default({}),
  overrides: settingsByStage.default({}),
});

/**
 * CDK and its command line keep things of their own in the context: `@aws-cdk/…`, `aws:cdk:…`, `cli-telemetry`, what
 * was looked up in an account. None is a plain word, as ours all are; so a word that is none of ours is a mistake.
 */
const ownedByCdk = /\W/;

/**
 * Reads the configuration from CDK context:
 *
 * - `-c stage=prod`: that stage alone. Left out: staging and prod.
 * - `-c name=Shelter`: stacks named `Shelter-<stage>`. Left out: `AnimalStore`.
 * - `-c accountSettings=existing`: the account has a role for API Gateway's logs, and it stays as it is.
 * - `-c github=owner/repository`, or `owner@id/repository@id` where GitHub's tokens say so: also the roles for its
 *   workflows. `-c githubProvider=existing` where the account trusts GitHub's tokens already.
 * - `stages` in cdk.json: settings that differ from those above, such as
 *   `{"prod": {"domain": {"name": "api.example.com", "certificateArn": "arn:…"}}}`. `null` takes a setting away.
 * - `-c overrides=JSON`: the same, on top of those in cdk.json, for one deployment. With `-c stages=…` CDK would leave
 *   out all that the file says.
 *
 * @param all the whole context of the app, CDK's own keys included
 * @throws ConfigurationError naming every mistake, in one line
 */
export function readConfiguration(all: Readonly<Record<string, unknown>>): Configuration {
  const { name, stage, stages, overrides, accountSettings, github, githubProvider } = parse(
    context,
    'context',
    Object.fromEntries(Object.entries(all).filter(([key]) => !ownedByCdk.test(key))),
  );
  const wanted: readonly StageName[] = stage === undefined ? ['staging', 'prod'] : [stage];
  return {
    name,
    stages: new Map(
      wanted.map((each) => [
        each,
        parse(stageSettings, `stages.${each}`, merge(merge(presets[each], stages[each]), overrides[each])),
      ]),
    ),
    // A laptop has no account.
    accountSettings: stage === 'local' ? 'existing' : accountSettings,
    github:
      github === undefined
        ? undefined
        : { repository: github, providerExists: githubProvider === 'existing' },
  };
}

function parse<T extends z.ZodType>(schema: T, path: string, value: unknown): z.infer<T> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const faults = result.error.issues.map((issue) => `${[path, ...issue.path].join('.')}: ${issue.message}`);
  throw new ConfigurationError(faults.join('; '));
}

/** What `-c` gives is text. */
function parseIfText(value: unknown, check: z.RefinementCtx): unknown {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value);
  } catch (error) {
    // On one line, although what it quotes may have several.
    const fault = String(error instanceof Error ? error.message : error).replaceAll(/\s+/g, ' ');
    check.addIssue(`is no JSON: ${fault}`);
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
