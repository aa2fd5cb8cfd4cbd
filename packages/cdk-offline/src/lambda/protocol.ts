import { z } from 'zod';

/** What passes between an execution environment's thread and the pool. */

export interface RuntimeSettings {
  readonly taskRoot: string;
  readonly handler: string;
  readonly logFormat: 'JSON' | 'Text';
  readonly logLevel: string | undefined;
}

export interface Invocation {
  readonly requestId: string;
  /** JSON. */
  readonly event: string;
  /** Milliseconds since the Unix epoch. */
  readonly deadline: number;
  readonly functionArn: string;
}

/** https://docs.aws.amazon.com/lambda/latest/dg/nodejs-exceptions.html */
const failure = z.object({ errorType: z.string(), errorMessage: z.string(), trace: z.array(z.string()) });
export type Failure = z.infer<typeof failure>;

export const fromRuntime = z.discriminatedUnion('type', [
  z.object({ type: z.literal('ready') }),
  z.object({ type: z.literal('initFailed'), failure }),
  z.object({ type: z.literal('succeeded'), requestId: z.string(), payload: z.string() }),
  z.object({ type: z.literal('failed'), requestId: z.string(), failure }),
]);
export type FromRuntime = z.infer<typeof fromRuntime>;
