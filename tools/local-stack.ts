import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isPortFree, type OfflineService, type RequestRecord, serve, type ServeOptions } from 'cdk-offline';
import { requireJava, startDynamoDb } from 'cdk-offline/dynamodb';
import { synthesize } from './local/synthesize.ts';

export const localStage = 'local';
export const localStackName = `AnimalStore-${localStage}`;

/** The service, which always has a database. */
export interface LocalStack extends Pick<OfflineService, 'url' | 'endpoint' | 'outputs' | 'stop'> {
  readonly dynamodbEndpoint: string;
  readonly service: OfflineService;
}

export interface LocalStackOptions {
  /** Port on 127.0.0.1; any free one when absent or 0. */
  readonly port?: number;
  /** Keeps tables and keys between runs; in memory when absent. */
  readonly dataDirectory?: string | undefined;
  readonly onProgress?: (message: string) => void;
  readonly onLog?: (functionId: string, line: string) => void;
  /** Served outside the stage, see `serve`. */
  readonly pages?: ServeOptions['pages'];
  /** Called after the service has stopped because its data is lost. Ends the process when absent. */
  readonly onFailure?: (error: Error) => void;
  readonly onRequest?: (record: RequestRecord) => void;
  /** Runs the functions under the Node.js inspector. */
  readonly inspect?: { readonly port: number } | undefined;
  /** Cancels the start. */
  readonly signal?: AbortSignal;
}

function endProcess(error: Error): void {
  console.error(error.message);
  process.exit(1);
}

/**
 * Synthesizes the stack of the local stage and serves it: the template and bundles that `cdk deploy` would deploy.
 *
 * @throws Error that says what to do: the port is in use, Java is missing or too old, or the app cannot be synthesized
 */
export async function startLocalStack(options: LocalStackOptions = {}): Promise<LocalStack> {
  const { onProgress = () => {}, onLog, onRequest, onFailure = endProcess } = options;
  const { port = 0, dataDirectory, pages, inspect, signal } = options;
  if (port !== 0 && !(await isPortFree(port))) {
    throw new Error(
      `Port ${port} is in use. Stop the process that listens on it, or choose another one with --port.`,
    );
  }
  await requireJava();
  const assemblyDirectory = await mkdtemp(join(tmpdir(), 'assembly-'));
  const cleanUp: (() => Promise<unknown>)[] = [() => rm(assemblyDirectory, { recursive: true, force: true })];
  const stop = async (): Promise<void> => {
    for (const step of cleanUp.splice(0).toReversed()) await step();
  };
  try {
    onProgress('Starting DynamoDB Local, synthesizing the stack and bundling the functions');
    const starting = startDynamoDb({
      dataDirectory: dataDirectory && join(dataDirectory, 'dynamodb'),
      onProgress,
      onLost: async (loss) => {
        await stop().catch(() => {});
        onFailure(loss);
      },
    });
    // Wait for both even if one fails: a service that is still starting cannot be stopped.
    const synthesizing = synthesize(assemblyDirectory, signal);
    await Promise.allSettled([starting, synthesizing]);
    const dynamodb = await starting;
    cleanUp.push(() => dynamodb.stop());
    await synthesizing;
    const service = await serve({
      assembly: assemblyDirectory,
      stack: localStackName,
      port,
      dynamodbEndpoint: dynamodb.endpoint,
      onProgress,
      onLog,
      pages,
      onRequest,
      inspect,
      dataDirectory,
    });
    cleanUp.push(() => service.stop());
    signal?.throwIfAborted();
    const { url, endpoint, outputs } = service;
    return { url, endpoint, dynamodbEndpoint: dynamodb.endpoint, outputs, service, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
