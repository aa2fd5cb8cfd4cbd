import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App } from 'aws-cdk-lib';
import * as z from 'zod';
import { addStacks } from '../../lib/app.ts';

const resource = z.object({
  Type: z.string(),
  Properties: z.record(z.string(), z.unknown()).default({}),
  DependsOn: z.array(z.string()).default([]),
  UpdatePolicy: z.record(z.string(), z.unknown()).optional(),
  DeletionPolicy: z.string().optional(),
  UpdateReplacePolicy: z.string().optional(),
});
export type Resource = z.infer<typeof resource>;

const templateSchema = z.object({
  Resources: z.record(z.string(), resource),
  Outputs: z.record(z.string(), z.object({ Value: z.unknown(), Export: z.unknown().optional() })).default({}),
});
export type Template = z.infer<typeof templateSchema>;

const cdkJson = z.object({ context: z.record(z.string(), z.unknown()) });

/** An app with the context of cdk.json and its own, without bundling: bundler.test.ts tests the code. */
export function appOf(outdir: string, context: Readonly<Record<string, unknown>>): App {
  const { context: flags } = cdkJson.parse(JSON.parse(readFileSync('cdk.json', 'utf8')));
  return new App({ outdir, context: { ...flags, 'aws:cdk:bundling-stacks': [], ...context } });
}

/** The templates of the CDK app for a context, by stack name. */
export class Synthesis {
  readonly #templates: ReadonlyMap<string, Template>;
  readonly #dependencies: ReadonlyMap<string, readonly string[]>;
  readonly #tags: ReadonlyMap<string, Readonly<Record<string, string>>>;
  /** The stacks that CloudFormation refuses to delete. */
  readonly protectedStacks: readonly string[];

  constructor(context: Readonly<Record<string, unknown>>) {
    const outdir = mkdtempSync(join(tmpdir(), 'synthesis-'));
    try {
      const app = appOf(outdir, context);
      addStacks(app);
      const { stacks } = app.synth();
      this.#templates = new Map(
        stacks.map((stack) => [stack.stackName, templateSchema.parse(stack.template)]),
      );
      const names = new Map(stacks.map(({ id, stackName }) => [id, stackName]));
      this.#dependencies = new Map(
        stacks.map((stack) => [stack.stackName, stack.dependencies.flatMap(({ id }) => names.get(id) ?? [])]),
      );
      this.#tags = new Map(stacks.map(({ stackName, tags }) => [stackName, tags]));
      this.protectedStacks = stacks
        .filter(({ terminationProtection }) => terminationProtection === true)
        .map(({ stackName }) => stackName);
    } finally {
      rmSync(outdir, { recursive: true, force: true });
    }
  }

  get stackNames(): readonly string[] {
    return [...this.#templates.keys()];
  }

  /** The stacks that `cdk deploy` deploys before this one. */
  deployedBefore(name: string): readonly string[] {
    return this.#dependencies.get(name) ?? [];
  }

  /** The tags that CloudFormation gives to all resources of a stack. */
  tagsOf(name: string): Readonly<Record<string, string>> {
    return this.#tags.get(name) ?? {};
  }

  stack(name: string): Template {
    const found = this.#templates.get(name);
    if (found === undefined)
      throw new Error(`Unknown stack ${name}: there are ${this.stackNames.join(', ')}`);
    return found;
  }
}

export const certificateArn = 'arn:aws:acm:eu-west-1:123456789012:certificate/1';
const edgeCertificateArn = 'arn:aws:acm:us-east-1:123456789012:certificate/1';
const hostedZone = { id: 'Z1', name: 'example.com' };

/** The contexts that tests share, so that each is synthesized once. */
export const contexts = {
  /** Staging and prod with the default configuration, the account and the delivery stack. */
  default: { github: 'owner/repository' },
  local: { stage: 'local' },
  /** A copy with another name. Prod has every optional part, staging as few as possible. */
  copy: {
    name: 'Shelter',
    stages: {
      prod: {
        accountThrottle: { requestsPerSecond: 5, burst: 100 },
        domain: { name: 'api.example.com', certificateArn, hostedZone },
        functions: { authorizer: { memory: 512, reservedConcurrency: 20, provisionedConcurrency: 3 } },
        gatewayResponseHeaders: 'static',
        logLevel: 'DEBUG',
        notificationAddress: 'on-call@example.com',
        waf: { requestsPerAddress: 2_000 },
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
  /** Prod alone at the edge, in an account that has API Gateway's role and GitHub's provider. */
  edge: {
    stage: 'prod',
    accountSettings: 'existing',
    github: 'owner/repository',
    githubProvider: 'existing',
    stages: {
      prod: {
        endpoint: 'edge',
        domain: { name: 'api.example.com', certificateArn: edgeCertificateArn, hostedZone },
      },
    },
  },
} as const;

const made = new Map<keyof typeof contexts, Synthesis>();

/** Synthesizes a shared context once: the test files share their modules. */
export function synthesize(name: keyof typeof contexts = 'default'): Synthesis {
  const synthesis = made.get(name) ?? new Synthesis(contexts[name]);
  made.set(name, synthesis);
  return synthesis;
}

/** The resources of a type, with their logical IDs. */
export function resourcesOf({ Resources }: Template, type: string): readonly (readonly [string, Resource])[] {
  return Object.entries(Resources).filter(([, { Type }]) => Type === type);
}

/** The only resource of a type with these properties. @throws Error unless there is exactly one */
export function theResource(
  template: Template,
  type: string,
  having: Readonly<Record<string, unknown>> = {},
): readonly [string, Resource] {
  const found = resourcesOf(template, type).filter(([, { Properties }]) =>
    Object.entries(having).every(([key, value]) => same(Properties[key], value)),
  );
  const [only, ...others] = found;
  if (only === undefined || others.length > 0) {
    throw new Error(`${found.length} resources of type ${type} have ${JSON.stringify(having)}`);
  }
  return only;
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

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
