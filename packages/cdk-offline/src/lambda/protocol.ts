import { z } from 'zod';

/** The messages between an execution environment and the thread or process that runs its function. */

export const runtimeSettings = z.object({
  taskRoot: z.string(),
  handler: z.string(),
  /** Such as `nodejs24.x`. */
  runtime: z.string(),
  /** Where the AWS SDK is looked for. */
  sdkFolders: z.array(z.string()),
  logFormat: z.enum(['JSON', 'Text']),
  logLevel: z.string().optional(),
});
export type RuntimeSettings = Readonly<z.infer<typeof runtimeSettings>>;

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
const failure = z.object({ errorType: z.string(), errorMessage: z.string(), trace: z.array(z.string()) });
export type Failure = z.infer<typeof failure>;

export function failureOf(errorType: string, errorMessage: string): Failure {
  return { errorType, errorMessage, trace: [] };
}

export const fromRuntime = z.discriminatedUnion('type', [
  z.object({ type: z.literal('sdkUsed'), path: z.string() }),
  z.object({ type: z.literal('ready') }),
  z.object({ type: z.literal('initFailed'), failure }),
  z.object({ type: z.literal('succeeded'), requestId: z.string(), payload: z.string() }),
  z.object({ type: z.literal('failed'), requestId: z.string(), failure }),
]);
export type FromRuntime = z.infer<typeof fromRuntime>;

/** The thread or process that runs a function. */
export interface Runtime {
  readonly send: (invocation: Invocation) => void;
  /** Resolves when it has ended. */
  readonly end: () => Promise<unknown>;
}

export interface RuntimeEvents {
  /** To be parsed as `fromRuntime`. */
  readonly onMessage: (message: unknown) => void;
  readonly onLine: (line: string) => void;
  readonly onError: (error: unknown) => void;
  readonly onExit: (code: number) => void;
}
