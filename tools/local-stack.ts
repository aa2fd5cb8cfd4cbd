import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { requireJava, startDynamoDbLocal } from '../packages/cdk-offline/src/dynamodb.ts';
import { isPortFree } from '../packages/cdk-offline/src/ports.ts';
import { type LocalService, startLocalService } from '../packages/cdk-offline/src/service.ts';

const projectDirectory = dirname(import.meta.dirname);

/** The stage that runs on a laptop, and its stack. */
export const localStage = 'local';
export const localStackName = `AnimalStore-${localStage}`;

export interface LocalStackOptions {
  /** Port on 127.0.0.1; any free one when absent or 0. */
  readonly port?: number;
  /** Where tables and keys are kept between runs; in memory when absent. */
  readonly dataDirectory?: string | undefined;
  readonly onProgress?: (message: string) => void;
  readonly onLog?: (functionId: string, line: string) => void;
}

/**
 * Synthesizes the stack of the local stage and serves it: the same template and bundles that `cdk deploy`
 * would ship.
 *
 * @throws Error that says what to do: the port is taken, Java is missing or too old, the app does not synthesize
 */
export async function startLocalStack(options: LocalStackOptions = {}): Promise<LocalService> {
  const { onProgress = () => {}, onLog, port = 0, dataDirectory } = options;
  if (port !== 0 && !(await isPortFree(port))) {
    throw new Error(`Port ${port} is taken. End what listens there, or choose another with --port.`);
  }
  await requireJava();
  const assemblyDirectory = await mkdtemp(join(tmpdir(), 'animal-store-'));
  const cleanUp: (() => Promise<unknown>)[] = [() => rm(assemblyDirectory, { recursive: true, force: true })];
  const stop = async (): Promise<void> => {
    for (const step of cleanUp.splice(0).toReversed()) await step();
  };
  try {
    onProgress('Starting DynamoDB Local, synthesizing the stack and bundling the functions');
    const starting = startDynamoDbLocal(
      dataDirectory === undefined ? {} : { dataDirectory: join(dataDirectory, 'dynamodb') },
    );
    // Both are waited for, whichever fails: what is still starting cannot be cleaned up.
    const synthesizing = synthesize(assemblyDirectory);
    await Promise.allSettled([starting, synthesizing]);
    const dynamodb = await starting;
    cleanUp.push(() => dynamodb.stop());
    await synthesizing;
    const service = await startLocalService({
      assemblyDirectory,
      stackName: localStackName,
      port,
      dynamodbEndpoint: dynamodb.endpoint,
      onProgress,
      ...(onLog && { onLog }),
      ...(dataDirectory !== undefined && { dataDirectory }),
    });
    cleanUp.push(() => service.stop());
    return { ...service, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Runs the CDK app as `cdk synth` does, so that its context and feature flags apply here too. */
async function synthesize(outputDirectory: string): Promise<void> {
  const cdk = join(projectDirectory, 'node_modules', 'aws-cdk', 'bin', 'cdk');
  const args = [cdk, 'synth', '--quiet', '--context', `stage=${localStage}`, '--output', outputDirectory];
  // The CLI starts the app with whatever `node` comes first: it must be the one that runs this.
  const path = [dirname(process.execPath), process.env['PATH']].join(delimiter);
  // Whether the template follows best practice is for the tests and for `cdk deploy`; it takes half of the time.
  const env = { ...process.env, PATH: path, CDK_VALIDATION: 'false' };
  await promisify(execFile)(process.execPath, args, { cwd: projectDirectory, env });
}
