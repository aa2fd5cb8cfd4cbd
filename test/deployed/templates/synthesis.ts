import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App } from 'aws-cdk-lib';
import { SynthesisMessageLevel } from 'aws-cdk-lib/cx-api';
import { Template } from 'aws-cdk-lib/assertions';
import * as z from 'zod';
import { addStacks } from '../../../lib/app.ts';
import { isSetting } from '../../../lib/configuration/context.ts';

const resource = z.object({
  Type: z.string(),
  Properties: z.record(z.string(), z.unknown()).default({}),
  DependsOn: z.array(z.string()).default([]),
  UpdatePolicy: z.record(z.string(), z.unknown()).optional(),
  DeletionPolicy: z.string().optional(),
  UpdateReplacePolicy: z.string().optional(),
});
export type Resource = z.infer<typeof resource>;

const output = z.object({ Value: z.unknown(), Export: z.unknown().optional() });
const template = z.object({
  Resources: z.record(z.string(), resource),
  Outputs: z.record(z.string(), output).default({}),
});

/** A stack as CloudFormation and `cdk deploy` see it. */
export interface Stack extends z.infer<typeof template> {
  readonly name: string;
  readonly template: Template;
  readonly tags: Readonly<Record<string, string>>;
  readonly isProtected: boolean;
  readonly warnings: readonly string[];
  /** The account and Region. */
  readonly environment: string;
  /** The stacks that are deployed before it. */
  readonly dependencies: readonly string[];
}

const cdkJson = z.object({ context: z.record(z.string(), z.unknown()) });

/** The CDK's flags of cdk.json, without the settings of whoever deploys: the tests hold in their repository, too. */
export function cdkFlags(): Readonly<Record<string, unknown>> {
  const { context } = cdkJson.parse(JSON.parse(readFileSync('cdk.json', 'utf8')));
  return Object.fromEntries(Object.entries(context).filter(([key]) => !isSetting(key)));
}

/** An app with a context, without bundling: bundler.test.ts tests the code. */
export function appOf(outdir: string, context: Readonly<Record<string, unknown>>): App {
  return new App({ outdir, context: { ...cdkFlags(), 'aws:cdk:bundling-stacks': [], ...context } });
}

/** The stacks of the CDK app for a context, by their IDs in the app: their names, unless two accounts have the same. */
export function stacksOf(context: Readonly<Record<string, unknown>>): ReadonlyMap<string, Stack> {
  const outdir = mkdtempSync(join(tmpdir(), 'synthesis-'));
  try {
    const app = appOf(outdir, context);
    addStacks(app);
    const { stacks } = app.synth();
    const ids = new Set(stacks.map(({ id }) => id));
    return new Map(
      stacks.map((stack) => [
        stack.id,
        {
          ...template.parse(stack.template),
          name: stack.stackName,
          environment: stack.environment.name,
          template: Template.fromJSON(stack.template),
          tags: stack.tags,
          warnings: stack.messages
            .filter(({ level }) => level === SynthesisMessageLevel.WARNING)
            .map(({ entry }) => JSON.stringify(entry.data)),
          isProtected: stack.terminationProtection === true,
          dependencies: stack.dependencies.map(({ id }) => id).filter((id) => ids.has(id)),
        },
      ]),
    );
  } finally {
    rmSync(outdir, { recursive: true, force: true });
  }
}

const certificateArn = 'arn:aws:acm:eu-west-1:123456789012:certificate/1';
const hostedZone = { id: 'Z1', name: 'example.com' };

/** The contexts that tests share, so that each is synthesized once. */
export const contexts = {
  /** Staging and prod with the default configuration, the account and the delivery stack. */
  default: { accountSettings: 'managed', github: 'owner/repository' },
  local: { stage: 'local' },
  /** A copy with another name. Prod has every optional part, staging as few as possible. */
  copy: {
    name: 'Shelter',
    accountSettings: 'managed',
    repository: 'https://github.com/owner/repository/',
    stages: {
      prod: {
        accountThrottle: { requestsPerSecond: 5, burst: 100 },
        canary: { percent: 20, minutes: 5 },
        domain: { name: 'api.example.com', certificateArn, hostedZone, disableExecuteApiEndpoint: true },
        functions: { authorizer: { memory: 512, reservedConcurrency: 20, provisionedConcurrency: 3 } },
        logLevel: 'DEBUG',
        minimumRequests: 100,
        monthlyBudget: 500,
        notificationAddress: 'on-call@example.com',
        waf: { requestsPerAddress: 10_000 },
        warmThroughput: { pets: { readUnitsPerSecond: 20_000, writeUnitsPerSecond: 5_000 } },
      },
      staging: {
        accountThrottle: { requestsPerSecond: 2_500, burst: 1_250 },
        deployment: 'all-at-once',
        alarms: false,
        dashboards: false,
        domain: { name: 'staging.example.com', certificateArn },
        throttle: { requestsPerSecond: 100, burst: 100 },
      },
    },
  },
  /** Two accounts, with another qualifier of `cdk bootstrap`. */
  accounts: {
    accountSettings: 'managed',
    github: 'owner/repository',
    '@aws-cdk/core:bootstrapQualifier': 'shelter',
    stages: {
      staging: { account: '111111111111', region: 'eu-west-1' },
      prod: { account: '222222222222', region: 'eu-central-1', canary: { percent: 10, minutes: 10 } },
    },
  },
  /** Prod alone, in an account that has API Gateway's role and GitHub's provider. */
  existing: {
    stage: 'prod',
    github: 'owner/repository',
    githubProvider: 'existing',
  },
} as const;

const made = new Map<keyof typeof contexts, ReadonlyMap<string, Stack>>();

/** Synthesizes a shared context once: the test files share their modules. */
export function synthesize(name: keyof typeof contexts): ReadonlyMap<string, Stack> {
  const stacks = made.get(name) ?? stacksOf(contexts[name]);
  made.set(name, stacks);
  return stacks;
}

/** A stack of the shared contexts, by its name: `AnimalStore-…` or `Shelter-…`. */
export function stackOf(name: string): Stack {
  const context = name.startsWith('Shelter') ? 'copy' : name.endsWith('-local') ? 'local' : 'default';
  const found = synthesize(context).get(name);
  if (found === undefined) throw new Error(`No shared context has the stack ${name}`);
  return found;
}

/** The resources of a type, with their logical IDs. @throws Error if there are none: what is said about all of them would hold */
export function resourcesOf(stack: Stack, type: string): readonly (readonly [string, Resource])[] {
  const found = resourcesIfAny(stack, type);
  if (found.length === 0) throw new Error(`${stack.name} has no resource of type ${type}`);
  return found;
}

/** The same, where there may be none. */
export function resourcesIfAny({ Resources }: Stack, type: string): readonly (readonly [string, Resource])[] {
  return Object.entries(Resources).filter(([, { Type }]) => Type === type);
}

/** The only resource of a type. @throws Error unless there is exactly one */
export function theResource(stack: Stack, type: string): readonly [string, Resource] {
  const found = resourcesOf(stack, type);
  if (found.length !== 1) throw new Error(`${stack.name} has ${found.length} resources of type ${type}`);
  return found[0]!;
}

const lambdaFunction = z.object({
  Handler: z.string(),
  Timeout: z.int(),
  MemorySize: z.int(),
  Environment: z.object({ Variables: z.record(z.string(), z.unknown()) }),
  LoggingConfig: z.object({ ApplicationLogLevel: z.string(), LogGroup: z.unknown().transform(idOf) }),
  Role: z.unknown().transform(idOf),
});

/** The functions of a stage by entry, without the hook of its deployments. */
export function functionsOf(stack: Stack) {
  const found = resourcesOf(stack, 'AWS::Lambda::Function').filter(([id]) => id.startsWith('Functions'));
  if (found.length === 0) throw new Error(`${stack.name} has no functions of the service`);
  return new Map(
    found.map(([id, { Properties }]) => {
      const parsed = lambdaFunction.parse(Properties);
      return [parsed.Handler.replace('.handler', ''), { id, ...parsed }] as const;
    }),
  );
}

/** The hook that checks new versions. */
export function hookOf(stack: Stack) {
  const functions = resourcesOf(stack, 'AWS::Lambda::Function');
  const [id, { Properties }] = functions.find(([each]) => each.startsWith('SafeDeploymentHook'))!;
  const { Environment, Role, Timeout } = lambdaFunction
    .pick({ Environment: true, Role: true, Timeout: true })
    .parse(Properties);
  return { id, Role, Timeout, ...Environment };
}

const reference = z.union([
  z.object({ Ref: z.string() }).transform(({ Ref }) => Ref),
  z.object({ 'Fn::GetAtt': z.tuple([z.string(), z.string()]) }).transform((value) => value['Fn::GetAtt'][0]),
]);

/** The logical ID that a value refers to. @throws ZodError if it is not a reference */
export function idOf(value: unknown): string {
  return reference.parse(value);
}

export function ref(logicalId: string): { Ref: string } {
  return { Ref: logicalId };
}

export function arnOf(logicalId: string): { 'Fn::GetAtt': string[] } {
  return { 'Fn::GetAtt': [logicalId, 'Arn'] };
}

export function joined(...parts: unknown[]): { 'Fn::Join': unknown[] } {
  return { 'Fn::Join': ['', parts] };
}
