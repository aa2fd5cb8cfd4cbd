import type { HttpResponse } from '../http/response.ts';

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

/** https://smithy.io/2.0/aws/protocols/index.html */
type Protocol = 'query' | 'rest-xml' | 'cbor' | 'json';

const restXmlServices = new Set(['s3', 's3express', 's3-outposts', 'cloudfront', 'route53']);

/** The protocol in which the client of a service reads errors. */
export function protocolOf(service: string, { headers }: ManagementRequest): Protocol {
  if (restXmlServices.has(service)) return 'rest-xml';
  if (headers['smithy-protocol'] === 'rpc-v2-cbor') return 'cbor';
  return headers['content-type']?.startsWith('application/x-www-form-urlencoded') === true ? 'query' : 'json';
}

/** An error of the client, status 400. */
export function errorIn(protocol: Protocol, code: string, message: string): HttpResponse {
  const xml = (text: string): HttpResponse => ({
    status: 400,
    headers: [['Content-Type', 'application/xml']],
    body: Buffer.from(text),
  });
  const details = `<Code>${code}</Code><Message>${message}</Message>`;
  switch (protocol) {
    case 'query':
      return xml(`<ErrorResponse><Error><Type>Sender</Type>${details}</Error></ErrorResponse>`);
    case 'rest-xml':
      return xml(`<Error>${details}</Error>`);
    case 'cbor':
      return {
        status: 400,
        headers: [
          ['Content-Type', 'application/cbor'],
          ['smithy-protocol', 'rpc-v2-cbor'],
        ],
        body: cborMap({ __type: code, message }),
      };
    case 'json':
      return jsonError(400, code, message);
  }
}

/** A map of texts, each shorter than 256 bytes. RFC 8949, section 3. */
function cborMap(texts: Readonly<Record<string, string>>): Buffer {
  const items = Object.entries(texts).flat();
  const encoded = items.map((text) =>
    Buffer.concat([Buffer.from([0x78, Buffer.byteLength(text)]), Buffer.from(text)]),
  );
  return Buffer.concat([Buffer.from([0xa0 + items.length / 2]), ...encoded]);
}
