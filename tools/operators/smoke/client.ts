/** What is sent and what comes back, nothing hidden. */
export interface Reply {
  readonly request: string;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export interface Ask {
  readonly method?: string;
  /** Relative to the base address, such as `/pets?limit=2`, or a whole URL taken from an answer. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array<ArrayBuffer>;
  /** The value of Authorization. Default: the client's key as a bearer token; no header if `null`. */
  readonly authorization?: string | null;
}

export function get(path: string): Ask {
  return { path };
}

/** The creation of an animal. */
export function post(body: string, type = 'application/json'): Ask {
  return { method: 'POST', path: '/pets', body, headers: { 'Content-Type': type } };
}

/** Milliseconds to wait for any one answer. */
const timeout = 15_000;

interface ClientOptions {
  /** Milliseconds between attempts at what may take a moment to be seen. */
  readonly retryPauses?: readonly number[];
  /** The checks add nothing to the store. */
  readonly readOnly?: boolean;
  readonly send?: typeof fetch;
}

/** A plain HTTP client for a deployed or local service. */
export class Client {
  readonly baseUrl: string;
  readonly key: string;
  readonly retryPauses: readonly number[];
  readonly readOnly: boolean;
  /** Requests sent so far. */
  calls = 0;
  readonly #fetch: typeof fetch;

  /** @param baseUrl with the version segment, such as `https://api.example.com/v1` */
  constructor(
    baseUrl: string,
    key: string,
    { retryPauses = [250, 500, 1_000], readOnly = false, send = fetch }: ClientOptions = {},
  ) {
    this.baseUrl = baseUrl.replace(/\/+$/, '');
    this.key = key;
    this.retryPauses = retryPauses;
    this.readOnly = readOnly;
    this.#fetch = send;
  }

  async send({ method = 'GET', path, headers, body, authorization }: Ask): Promise<Reply> {
    this.calls += 1;
    const sent = new Headers(headers);
    if (authorization !== null) sent.set('Authorization', authorization ?? `Bearer ${this.key}`);
    const response = await this.#fetch(path.startsWith('http') ? path : this.baseUrl + path, {
      method,
      headers: sent,
      ...(body !== undefined && { body }),
      redirect: 'manual',
      signal: AbortSignal.timeout(timeout),
    });
    const request = `${method} ${path.replace(this.baseUrl, '')}`;
    return { request, status: response.status, headers: response.headers, text: await response.text() };
  }

  post(body: string): Promise<Reply> {
    return this.send(post(body));
  }
}
