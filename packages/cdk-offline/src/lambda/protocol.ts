import type { LogLevel } from './function-definition.ts';

/** The messages between an execution environment and the thread or process that runs its function. */

export interface RuntimeSettings {
  readonly taskRoot: string;
  readonly handler: string;
  /** Such as `nodejs24.x`. */
  readonly runtime: string;
  /** Where the AWS SDK is looked for. */
  readonly sdkFolders: readonly string[];
  readonly logFormat: 'JSON' | 'Text';
  readonly logLevel: LogLevel | undefined;
}

export interface Invocation {
  readonly requestId: string;
  /** JSON. */
  readonly event: string;
  readonly timeoutMs: number;
  /** Milliseconds since the Unix epoch; `undefined` while the time-out is suspended. */
  readonly deadline: number | undefined;
  readonly functionArn: string;
  /** The value of `_X_AMZN_TRACE_ID`. */
  readonly traceId: string;
}

/** https://docs.aws.amazon.com/lambda/latest/dg/nodejs-exceptions.html */
export interface Failure {
  readonly errorType: string;
  readonly errorMessage: string;
  readonly trace: readonly string[];
}

export function failureOf(errorType: string, errorMessage: string): Failure {
  return { errorType, errorMessage, trace: [] };
}

export type FromRuntime =
  | { readonly type: 'sdkUsed'; readonly path: string }
  | { readonly type: 'ready' }
  | { readonly type: 'initFailed'; readonly failure: Failure }
  | { readonly type: 'succeeded'; readonly requestId: string; readonly payload: string }
  | { readonly type: 'failed'; readonly requestId: string; readonly failure: Failure };

/** The thread or process that runs a function. */
export interface Runtime {
  readonly send: (invocation: Invocation) => void;
  /** Resolves when it has ended. */
  readonly end: () => Promise<unknown>;
}

export interface RuntimeEvents {
  readonly onMessage: (message: FromRuntime) => void;
  readonly onLine: (line: string) => void;
  readonly onError: (error: unknown) => void;
  readonly onExit: (code: number) => void;
}
