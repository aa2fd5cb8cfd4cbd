import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { App } from 'aws-cdk-lib';
import { z } from 'zod';
import { AnimalStoreStack } from '../../lib/animal-store-stack.ts';
import { readConfiguration } from '../../lib/context.ts';
import type { StageName } from '../../lib/stages.ts';

/** What of a stage's template decides its bill. */
export interface StageFootprint {
  /** MiB, by the function's entry. */
  readonly memory: ReadonlyMap<string, number>;
  /** The access log's line, with `$context` variables in the place of values. */
  readonly accessLogFormat: string;
  /** Alarms are billed by the metrics they read. */
  readonly alarmMetrics: number;
  readonly dashboards: number;
  /** Methods whose metrics API Gateway publishes one by one, which is billed. */
  readonly meteredMethods: number;
  readonly pointInTimeRecovery: boolean;
  readonly logRetentionDays: number;
}

const resource = z.object({ Type: z.string(), Properties: z.record(z.string(), z.unknown()).default({}) });
const template = z.object({ Resources: z.record(z.string(), resource) });

const lambdaFunction = z.object({ Handler: z.string(), MemorySize: z.number() });
const alarm = z.object({ Metrics: z.array(z.object({ MetricStat: z.unknown().optional() })).optional() });
const apiStage = z.object({
  AccessLogSetting: z.object({ Format: z.string() }),
  MethodSettings: z.array(z.object({ MetricsEnabled: z.boolean().default(false) })),
});
const table = z.object({
  Replicas: z.array(
    z.object({
      PointInTimeRecoverySpecification: z.object({ PointInTimeRecoveryEnabled: z.boolean() }).optional(),
    }),
  ),
});
const logGroup = z.object({ RetentionInDays: z.number() });

/** Synthesizes a stage, without bundling its functions, and reads what it will cost. */
export function footprintOf(stage: StageName): StageFootprint {
  const project = join(import.meta.dirname, '..', '..');
  const { context } = z
    .object({ context: z.record(z.string(), z.unknown()) })
    .parse(JSON.parse(readFileSync(join(project, 'cdk.json'), 'utf8')));
  const app = new App({
    context: { ...context, stage, 'aws:cdk:bundling-stacks': [] },
    // Whoever deploys the template has it checked; here it is only read.
    builtinCloudFormationValidation: false,
    treeMetadata: false,
  });
  const { stages } = readConfiguration(app.node.getAllContext());
  const settings = stages.get(stage);
  if (settings === undefined) throw new Error(`There is no stage ${stage}`);
  const stack = new AnimalStoreStack(app, `AnimalStore-${stage}`, { stage, settings });
  return readTemplate(app.synth().getStackArtifact(stack.artifactId).template);
}

export function readTemplate(synthesized: unknown): StageFootprint {
  const { Resources: resources } = template.parse(synthesized);
  const all = <T>(type: string, schema: z.ZodType<T>): T[] =>
    Object.values(resources)
      .filter((each) => each.Type === type)
      .map((each) => schema.parse(each.Properties));

  const [stageOfApi] = all('AWS::ApiGateway::Stage', apiStage);
  if (stageOfApi === undefined) throw new Error('The template has no stage of an API');
  const metered = stageOfApi.MethodSettings.some((setting) => setting.MetricsEnabled);
  return {
    memory: new Map(
      all('AWS::Lambda::Function', lambdaFunction).map((each) => [
        each.Handler.replace(/\.handler$/, ''),
        each.MemorySize,
      ]),
    ),
    accessLogFormat: stageOfApi.AccessLogSetting.Format,
    alarmMetrics: all('AWS::CloudWatch::Alarm', alarm).reduce((sum, each) => sum + metricsOf(each), 0),
    dashboards: all('AWS::CloudWatch::Dashboard', z.unknown()).length,
    meteredMethods: metered ? all('AWS::ApiGateway::Method', z.unknown()).length : 0,
    pointInTimeRecovery: all('AWS::DynamoDB::GlobalTable', table).some((each) =>
      each.Replicas.some((replica) => replica.PointInTimeRecoverySpecification?.PointInTimeRecoveryEnabled),
    ),
    logRetentionDays: Math.max(...all('AWS::Logs::LogGroup', logGroup).map((each) => each.RetentionInDays)),
  };
}

/** An alarm on a computed value reads several metrics. */
function metricsOf({ Metrics: metrics }: z.infer<typeof alarm>): number {
  return metrics === undefined ? 1 : metrics.filter((each) => each.MetricStat !== undefined).length;
}
