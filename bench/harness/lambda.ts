import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { CpuQuota } from './cpu-quota.ts';

/** Amazon's own runtime client, the one that Lambda runs functions with. */
const runtimeClient = createRequire(import.meta.url).resolve('aws-lambda-ric');

/** A function as Lambda would be told of it. */
export interface Target {
  readonly name: string;
  /** The unpacked asset: outside the project, whose package.json would change how it loads. */
  readonly directory: string;
  /** `<file>.<export>` */
  readonly handler: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** The event of the first invocation. */
  readonly event: unknown;
  /** Whether the function did what it should: an error is answered fast, too. */
  readonly accepts: (answer: unknown) => boolean;
}

export interface ColdStart {
  /** From the start of the process to its first request for an event, in milliseconds. */
  readonly init: number;
  /** From the start of the process to the answer of its first invocation, in milliseconds. */
  readonly answer: number;
  /** Processor time until that answer, all threads, in milliseconds. Linux only. */
  readonly cpu: number | undefined;
  /** Highest resident memory until that answer, in MiB. Linux only. */
  readonly memory: number | undefined;
  /** From the event to the answer of each invocation after the first, in milliseconds. */
  readonly warm: readonly number[];
}

export interface StartOptions {
  /** Invocations after the first. */
  readonly warm?: number;
  /** What the function may have of the processors. Left out: all there is. */
  readonly quota?: CpuQuota;
}

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
const invocationMs = 30_000;

/**
 * Lambda as seen by its runtime client: the Runtime API on this machine, and one process per cold start.
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

  /** Starts a process, lets it serve its events, and ends it. One at a time. @throws Error when any of this fails */
  async coldStart(target: Target, { warm: wanted = 0, quota }: StartOptions = {}): Promise<ColdStart> {
    const { port } = this.#server.address() as AddressInfo;
    const answered = Promise.withResolvers<Omit<ColdStart, 'cpu' | 'memory'>>();
    const warm: number[] = [];
    let [start, init, answer, sent] = [0, 0, 0, 0];
    const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      const now = performance.now();
      if (request.url === `${runtimePath}/invocation/next`) {
        // The last request for an event stays unanswered, as while Lambda has none.
        if (answer !== 0 && warm.length === wanted) return;
        if (init === 0) init = now - start;
        response.setHeader('Lambda-Runtime-Aws-Request-Id', requestId);
        response.setHeader('Lambda-Runtime-Deadline-Ms', String(Date.now() + invocationMs));
        response.setHeader(
          'Lambda-Runtime-Invoked-Function-Arn',
          `arn:aws:lambda:eu-central-1:123456789012:function:f`,
        );
        response.setHeader('Content-Type', 'application/json');
        response.end(JSON.stringify(target.event));
        sent = performance.now();
        return;
      }
      const body = (await buffer(request)).toString();
      if (request.url === `${runtimePath}/invocation/${requestId}/response`) {
        if (answer === 0) answer = now - start;
        else warm.push(now - sent);
        if (!target.accepts(JSON.parse(body)))
          answered.reject(new Error(`${target.name} answered ${body.slice(0, 2_000)}`));
        else if (warm.length === wanted) answered.resolve({ init, answer, warm });
      } else {
        answered.reject(new Error(`${target.name} failed: ${request.url} ${body.slice(0, 2_000)}`));
      }
      response.writeHead(202).end('{}');
    };
    this.#onRequest = (request, response) => void serve(request, response).catch(answered.reject);

    start = performance.now();
    const command = [process.execPath, runtimeClient] as const;
    const [file, ...args] =
      quota === undefined ? command : ['sh', '-c', 'echo $$ > "$0" && exec "$@"', quota.entrance, ...command];
    const child = spawn(file, args, {
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
    const ended = new Promise<void>((done) => void child.once('exit', () => done()));
    child.once('error', answered.reject);
    child.once('exit', (code) => answered.reject(new Error(`${target.name} ended with exit code ${code}`)));
    try {
      const times = await answered.promise;
      return { ...times, ...(await usage(child.pid)) };
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

/** https://man7.org/linux/man-pages/man5/proc.5.html */
async function usage(pid: number | undefined): Promise<Pick<ColdStart, 'cpu' | 'memory'>> {
  try {
    const [status, stat] = await Promise.all([
      readFile(`/proc/${pid}/status`, 'utf8'),
      readFile(`/proc/${pid}/stat`, 'utf8'),
    ]);
    const peakKiB = Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]);
    // The command's name, in brackets, may hold spaces; utime and stime are the 12th and 13th field after it.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const ticks = Number(fields[11]) + Number(fields[12]);
    const ticksPerSecond = 100;
    return { memory: peakKiB / 1024, cpu: (ticks / ticksPerSecond) * 1_000 };
  } catch {
    return { memory: undefined, cpu: undefined };
  }
}
