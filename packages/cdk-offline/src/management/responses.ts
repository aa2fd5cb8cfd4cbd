import type { HttpResponse } from '../http-message.ts';

/** A request of an AWS SDK. */
export interface ManagementRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export function jsonAnswer(status: number, body: unknown): HttpResponse {
  return {
    status,
    headers: [['Content-Type', 'application/json']],
    body: Buffer.from(body === undefined ? '' : JSON.stringify(body)),
  };
}

/** An error in the format of the SDK's JSON protocols. */
export function jsonError(status: number, name: string, message: string): HttpResponse {
  const { headers, ...answer } = jsonAnswer(status, { __type: name, message });
  return { ...answer, headers: [...headers, ['x-amzn-ErrorType', name]] };
}
