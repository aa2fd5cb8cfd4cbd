import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { CpuQuota } from './cpu-quota.ts';

/** AWS's runtime client, which Lambda runs functions with. */
const runtimeClient = createRequire(import.meta.url).resolve('aws-lambda-ric');

/** A function and its first event. */
export interface ColdStartTarget {
  readonly name: string;
  /** The unpacked asset, outside the project: a package.json above it changes how modules load. */
  readonly directory: string;
  /** `<file>.<export>` */
  readonly handler: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** A new event for the first invocation. */
  readonly event: () => unknown;
  /** Whether the response is as expected: an error can be faster. */
  readonly accepts: (answer: unknown) => boolean;
}

export interface ColdStart {
  /** From the start of the process to its first response, in milliseconds. */
  readonly response: number;
}

/**
 * The processor share of a new execution environment.
 *
 * - `burst`: all processors until it asks for its first event, then its share. Public experiments show this on Lambda; AWS
 *   does not promise it.
 * - `share`: its share from the start.
 */
export const processorModels = ['burst', 'share'] as const;
export type ProcessorModel = (typeof processorModels)[number];

/**
 * The variables that Lambda sets:
 * https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html#configuration-envvars-runtime
 */
export const lambdaVariables = {
  LANG: 'en_US.UTF-8',
  TZ: ':UTC',
  PATH: '/usr/local/bin:/usr/bin:/bin',
  AWS_REGION: 'eu-central-1',
  AWS_DEFAULT_REGION: 'eu-central-1',
  AWS_ACCESS_KEY_ID: 'local',
  AWS_SECRET_ACCESS_KEY: 'local',
  AWS_SESSION_TOKEN: 'local',
  AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x',
  AWS_LAMBDA_FUNCTION_NAME: 'function',
  AWS_LAMBDA_FUNCTION_VERSION: '1',
  AWS_LAMBDA_FUNCTION_MEMORY_SIZE: '1024',
  AWS_LAMBDA_LOG_GROUP_NAME: '/aws/lambda/function',
  AWS_LAMBDA_LOG_STREAM_NAME: 'stream',
  AWS_LAMBDA_LOG_FORMAT: 'JSON',
  AWS_LAMBDA_LOG_LEVEL: 'INFO',
  AWS_LAMBDA_INITIALIZATION_TYPE: 'on-demand',
};

const runtimePath = '/2018-06-01/runtime';
const requestId = '8476a536-e9f4-11e8-9739-2dfe598c3fcd';
const functionArn = 'arn:aws:lambda:eu-central-1:123456789012:function:f';
const invocationMs = 30_000;

/**
 * The Runtime API of Lambda on this machine, with one process for each cold start.
 *
 * https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html
 */
export class Lambda {
  readonly #server: Server;
  #onRequest: (request: IncomingMessage, response: ServerResponse) => void = () => {};

  private constructor(server: Server) {
    this.#server = server;
    server.on('request', (request, response) => this.#onRequest(request, response));
  }

  static async start(): Promise<Lambda> {
    const server = createServer();
    await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
    return new Lambda(server);
  }

  /** Starts a process, sends it its event, and ends it. One at a time. @throws Error when any of this fails */
  async coldStart(target: ColdStartTarget, model: ProcessorModel, quota: CpuQuota): Promise<ColdStart> {
    const { port } = this.#server.address() as AddressInfo;
    const done = Promise.withResolvers<ColdStart>();
    let [start, init, sent] = [0, 0, 0];
    const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      const now = performance.now();
      if (request.url === `${runtimePath}/invocation/next`) {
        init = now - start;
        // The kernel needs some milliseconds for this, which do not count.
        if (model === 'burst') await writeFile(quota.entrance, String(child.pid));
        response.setHeader('Lambda-Runtime-Aws-Request-Id', requestId);
        response.setHeader('Lambda-Runtime-Deadline-Ms', String(Date.now() + invocationMs));
        response.setHeader('Lambda-Runtime-Invoked-Function-Arn', functionArn);
        response.setHeader('Content-Type', 'application/json');
        response.end(JSON.stringify(target.event()));
        sent = performance.now();
        return;
      }
      const body = (await buffer(request)).toString();
      const isAccepted =
        request.url === `${runtimePath}/invocation/${requestId}/response` && target.accepts(JSON.parse(body));
      if (isAccepted) done.resolve({ response: init + now - sent });
      else done.reject(new Error(`${target.name} failed: ${request.url} ${body.slice(0, 2_000)}`));
      // Without an answer the process does not ask for another event before it is ended.
    };
    this.#onRequest = (request, response) => void serve(request, response).catch(done.reject);

    start = performance.now();
    // The shell takes about a millisecond, in both models.
    const enter = model === 'share' ? 'echo $$ > "$0" && exec "$@"' : 'exec "$@"';
    const command = [process.execPath, runtimeClient];
    const child = spawn('sh', ['-c', enter, quota.entrance, ...command], {
      cwd: target.directory,
      env: {
        ...lambdaVariables,
        ...target.environment,
        AWS_LAMBDA_RUNTIME_API: `127.0.0.1:${port}`,
        LAMBDA_TASK_ROOT: target.directory,
        _HANDLER: target.handler,
      },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const ended = new Promise<void>((end) => void child.once('exit', () => end()));
    child.once('error', done.reject);
    child.once('exit', (code) => done.reject(new Error(`${target.name} ended with exit code ${code}`)));
    try {
      return await done.promise;
    } finally {
      child.kill('SIGKILL');
      await ended;
    }
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((done) => this.#server.close(done));
  }
}
