/** A plain HTTP client for a deployed or local service: what is sent and what comes back, nothing hidden. */
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
  /** The value of Authorization; the key given to the client as a bearer token where left out, none if `null`. */
  readonly authorization?: string | null;
}

/** Milliseconds to wait for any one answer. */
const timeout = 15_000;

export class Client {
  readonly baseUrl: string;
  /** Milliseconds between attempts at what may take a moment to be seen. */
  readonly retryPauses: readonly number[];
  readonly #key: string;
  #calls = 0;

  /** @param baseUrl with the version segment, such as `https://api.example.com/v1` */
  constructor(baseUrl: string, key: string, retryPauses: readonly number[] = [250, 500, 1_000]) {
    this.retryPauses = retryPauses;
    this.baseUrl = baseUrl.replace(/\/+$/, '');
    this.#key = key;
  }

  /** How many requests were sent so far. */
  get calls(): number {
    return this.#calls;
  }

  get key(): string {
    return this.#key;
  }

  async send({
    method = 'GET',
    path,
    headers = {},
    body,
    authorization = `Bearer ${this.#key}`,
  }: Ask): Promise<Reply> {
    this.#calls += 1;
    const response = await fetch(path.startsWith('http') ? path : this.baseUrl + path, {
      method,
      headers: { ...headers, ...(authorization !== null && { Authorization: authorization }) },
      ...(body !== undefined && { body }),
      redirect: 'manual',
      signal: AbortSignal.timeout(timeout),
    });
    const request = `${method} ${path.replace(this.baseUrl, '')}`;
    return { request, status: response.status, headers: response.headers, text: await response.text() };
  }

  post(
    body: string,
    headers: Readonly<Record<string, string>> = { 'Content-Type': 'application/json' },
  ): Promise<Reply> {
    return this.send({ method: 'POST', path: '/pets', body, headers });
  }
}
