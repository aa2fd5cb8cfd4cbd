import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { type LocalService, startLocalService } from '../local/service.ts';

const projectDirectory = dirname(import.meta.dirname);

/** The stage that runs on a laptop, and its stack. */
export const localStage = 'local';
export const localStackName = `AnimalStore-${localStage}`;

export interface LocalStackOptions {
  readonly port?: number;
  readonly dataDirectory?: string | undefined;
  readonly dynamodbEndpoint?: string;
  readonly onProgress?: (message: string) => void;
  readonly onLog?: (functionId: string, line: string) => void;
}

/**
 * Synthesizes the stack of the local stage and serves it: the same template and bundles that `cdk deploy`
 * would ship.
 */
export async function startLocalStack(options: LocalStackOptions = {}): Promise<LocalService> {
  const { onProgress = () => {}, onLog, port, dataDirectory, dynamodbEndpoint } = options;
  const assemblyDirectory = await mkdtemp(join(tmpdir(), 'animal-store-'));
  const removeAssembly = () => rm(assemblyDirectory, { recursive: true, force: true });
  try {
    onProgress('Synthesizing the stack and bundling the functions');
    await synthesize(assemblyDirectory);
    const service = await startLocalService({
      assemblyDirectory,
      stackName: localStackName,
      onProgress,
      ...(onLog && { onLog }),
      ...(port !== undefined && { port }),
      ...(dataDirectory !== undefined && { dataDirectory }),
      ...(dynamodbEndpoint !== undefined && { dynamodbEndpoint }),
    });
    return {
      ...service,
      stop: async () => {
        await service.stop();
        await removeAssembly();
      },
    };
  } catch (error) {
    await removeAssembly();
    throw error;
  }
}

/** Runs the CDK app as `cdk synth` does, so that its context and feature flags apply here too. */
async function synthesize(outputDirectory: string): Promise<void> {
  const cdk = join(projectDirectory, 'node_modules', 'aws-cdk', 'bin', 'cdk');
  const args = [cdk, 'synth', '--quiet', '--context', `stage=${localStage}`, '--output', outputDirectory];
  // The CLI starts the app with whatever `node` comes first: it must be the one that runs this.
  const path = [dirname(process.execPath), process.env['PATH']].join(delimiter);
  await promisify(execFile)(process.execPath, args, {
    cwd: projectDirectory,
    env: { ...process.env, PATH: path },
  });
}
