/** Tests and reports in public repositories. */
const sources = {
  /** `@markers.aws.validated`, with the dates in `*.validation.json`. */
  localstack: 'localstack/localstack tests/aws/services/apigateway',
  /** Release 1.5.33, and its issues and pull requests. */
  ministack: 'ministackorg/ministack tests/test_apigatewayv1.py',
  serverlessHttp: 'dougmoscrop/serverless-http',
  awsdocs: 'awsdocs/amazon-api-gateway-developer-guide',
  boaChat: 'moduspwnens/boa-chat',
};

export interface Request {
  readonly method?: string;
  /** The path has the stage and the query. */
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer | string;
}

/** What is compared: the members that are given. */
export interface Answer {
  readonly status?: number;
  /** Text, or JSON. */
  readonly body?: unknown;
  /** Null: there is none. */
  readonly headers?: Readonly<Record<string, string | RegExp | null>>;
  /** Headers with the values of others. */
  readonly same?: Readonly<Record<string, string>>;
  /** Members of the event of the function, and of its `requestContext`. */
  readonly event?: Readonly<Record<string, unknown>>;
  readonly context?: Readonly<Record<string, unknown>>;
  /** Headers of the event. */
  readonly received?: Readonly<Record<string, string | null>>;
}

export interface Fact {
  readonly source: keyof typeof sources;
  /** The test or report there, and when it ran on AWS. */
  readonly in: string;
  readonly words: string;
  /** Methods and paths. Default: all. */
  readonly routes?: readonly string[];
  /** Properties of gateway responses, by type. */
  readonly responses?: Readonly<Record<string, object>>;
  /** Properties of the usage plan. */
  readonly plan?: object;
  readonly key?: 'valid' | 'missing' | 'unknown' | 'disabled' | 'in no plan';
  /** What the function answers. Default: its event. `throws`: it does. */
  readonly answers?: unknown;
  readonly send?: Request;
  readonly recorded: Answer;
  /** Text: the local service refuses the template with it. */
  readonly ours?: Answer | string;
}

/** An answer of a function that throws. */
export const throws = Symbol('throws');
