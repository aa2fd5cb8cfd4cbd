import type { HttpResponse } from '../http-message.ts';

/** A call to a service of AWS, as its SDK sends it. */
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

/** An error as the SDK's JSON protocols read it. */
export function jsonError(status: number, name: string, message: string): HttpResponse {
  const { headers, ...answer } = jsonAnswer(status, { __type: name, message });
  return { ...answer, headers: [...headers, ['x-amzn-ErrorType', name]] };
}

export function xmlAnswer(status: number, body: string): HttpResponse {
  return { status, headers: [['Content-Type', 'text/xml']], body: Buffer.from(body) };
}

/** An error as the SDK's query protocol reads it. */
export function xmlError(status: number, code: string, message: string, namespace: string): HttpResponse {
  const error = `<Error><Type>Sender</Type><Code>${code}</Code><Message>${escapeXml(message)}</Message></Error>`;
  return xmlAnswer(
    status,
    `<ErrorResponse xmlns="${namespace}">${error}<RequestId>${crypto.randomUUID()}</RequestId></ErrorResponse>`,
  );
}

export function escapeXml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
