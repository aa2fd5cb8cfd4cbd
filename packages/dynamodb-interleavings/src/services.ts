import type { Fate } from './faults.ts';
import type { Access, Footprint } from './footprint.ts';
import type { Call, Reply, Server } from './call.ts';

/** As a client of the SDK sends it. */
export interface ServiceRequest {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string | readonly string[] | null>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface ServiceAnswer {
  readonly statusCode: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** With which a service refuses a request. */
const refusals = {
  failed: refusal(500, 'InternalFailure'),
  throttled: refusal(429, 'TooManyRequestsException'),
  denied: refusal(403, 'AccessDeniedException'),
} as const;

/**
 * Another service of AWS that requests call, such as API Gateway or SQS. Each call is a step as one of DynamoDB is: others come
 * before or after it, and it meets the same faults, but for those of DynamoDB's reads and batches.
 */
export interface Service {
  /** Changes its state and answers. What it waits for has to be promises of its own: the whole is one step. */
  readonly answer: (request: ServiceRequest) => ServiceAnswer | Promise<ServiceAnswer>;
  /**
   * What a request reads and writes, each part by a name of your choice. Only requests that use the same part, one of which writes it,
   * are run in both orders. Default: GET and HEAD read the service as a whole, others write it
   */
  readonly uses?: (request: ServiceRequest) => Readonly<Record<string, 'read' | 'write'>>;
  /**
   * Its answers to calls that meet these faults. Default: as a service with the protocol `restJson1` answers, such as API Gateway. No
   * call meets `conflict` if there is none
   */
  readonly refusals?: Readonly<Partial<Record<keyof typeof refusals | 'conflict', ServiceAnswer>>>;
}

/** An error as a service with the protocol `restJson1` answers, such as API Gateway: `refusal(409, 'ConflictException')`. */
export function refusal(statusCode: number, type: string, message = type): ServiceAnswer {
  return {
    statusCode,
    headers: { 'content-type': 'application/json', 'x-amzn-errortype': type },
    body: JSON.stringify({ message }),
  };
}

/** Such as `POST /apikeys`, or the name of the action of a query or JSON protocol. */
export function operationOf({ method, path, headers, body }: ServiceRequest): string {
  const [, action] = /^(?:.*&)?Action=(\w+)/.exec(body) ?? [];
  return action ?? headers['x-amz-target']?.split('.').at(-1) ?? `${method} ${path}`;
}

/** A service as the network sees it. */
export class OtherServer implements Server {
  readonly #name: string;
  readonly #service: Service;
  readonly #footprint: () => Footprint;

  constructor(name: string, service: Service, footprint: () => Footprint) {
    this.#name = name;
    this.#service = service;
    this.#footprint = footprint;
  }

  isRead(call: Call): boolean {
    return !this.#uses(call).some(([, access]) => access === 'write');
  }

  writes(call: Call): boolean {
    return !this.isRead(call);
  }

  ways(fate: Fate): number {
    if (fate === 'stale' || fate === 'shortPage' || fate === 'unprocessed') return 0;
    return Number(fate !== 'conflict' || this.#service.refusals?.conflict !== undefined);
  }

  async apply(call: Call): Promise<Reply> {
    for (const [part, access] of this.#uses(call)) this.#footprint().add(`${this.#name} ${part}`, access);
    const answer = await this.#service.answer(call.input as ServiceRequest);
    call.applied = true;
    return replyOf(answer);
  }

  refuse(_: Call, fate: 'failed' | 'throttled' | 'denied' | 'conflict'): Reply {
    return replyOf({ ...refusals, ...this.#service.refusals }[fate] ?? refusals.failed);
  }

  #uses({ input }: Call): [part: string, access: Access][] {
    const request = input as ServiceRequest;
    if (this.#service.uses) return Object.entries(this.#service.uses(request));
    return [['', /^(GET|HEAD)$/.test(request.method) ? 'read' : 'write']];
  }
}

function replyOf({ statusCode, headers = {}, body = '' }: ServiceAnswer): Reply {
  const lowerCase = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
  return { statusCode, headers: Object.fromEntries(lowerCase) as Reply['headers'], text: body };
}
