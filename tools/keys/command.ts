import type { Option } from 'commander';
import type { z } from 'zod';
import type { Output } from './output.ts';
import type { AdministeredKey } from './records.ts';
import { type KeyService, requireKey, requireValid } from './service.ts';

/** What a command works with. */
export interface Session {
  readonly service: KeyService;
  readonly output: Output;
  readonly stage: string;
  /** Asks before a change in prod. @throws KeyToolError unless it is confirmed */
  readonly confirm: (question: string) => Promise<void>;
  /** All of standard input. */
  readonly input: () => Promise<string>;
}

interface Description<T extends z.ZodObject> {
  readonly name: string;
  readonly summary: string;
  /** More for --help. */
  readonly details?: string;
  /** Arguments of an example. */
  readonly example: string;
  readonly options?: readonly Option[];
  /** Flags of the options that must be given, besides --stage. */
  readonly required?: readonly string[];
  readonly schema: T;
}

/** A command as the command line sees it. */
export interface Command extends Description<z.ZodObject> {
  readonly takesKeyId: boolean;
  /** Whether it asks for confirmation in prod. */
  readonly asks: boolean;
  readonly run: (session: Session, given: unknown, keyId: string) => Promise<void>;
}

/** A command about the stage. */
export function stageCommand<T extends z.ZodObject>(
  description: Description<T> & {
    readonly asks?: boolean;
    readonly run: (session: Session, options: z.infer<T>) => Promise<void>;
  },
): Command {
  const { schema, run, asks = false } = description;
  return {
    ...description,
    asks,
    takesKeyId: false,
    run: (session, given) => run(session, schema.parse(given)),
  };
}

/** A command about one key: looks it up once, checks its state once, and asks once. */
export function keyCommand<T extends z.ZodObject>(
  description: Description<T> & {
    /** Refuses keys that are revoked or expired, which cannot be …, such as `rotated`. */
    readonly refusal?: string;
    /** What to ask in prod; `undefined` when there is nothing to confirm. */
    readonly question?: (key: AdministeredKey, stage: string, options: z.infer<T>) => string | undefined;
    /** Checks options before anything is read. @throws KeyToolError */
    readonly check?: (options: z.infer<T>) => void;
    readonly run: (session: Session, key: AdministeredKey, options: z.infer<T>) => Promise<void>;
  },
): Command {
  const { schema, refusal, question, check, run } = description;
  return {
    ...description,
    takesKeyId: true,
    asks: question !== undefined,
    run: async (session, given, keyId) => {
      const options = schema.parse(given);
      check?.(options);
      const { service, stage, confirm } = session;
      const key = await requireKey(service, keyId);
      if (refusal !== undefined) requireValid(service, key, refusal);
      const asked = question?.(key, stage, options);
      if (asked !== undefined) await confirm(asked);
      await run(session, key, options);
    },
  };
}
