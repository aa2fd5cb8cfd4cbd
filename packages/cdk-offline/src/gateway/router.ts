/** The resource for a path, and the path's parameters. */
export interface Match<T> {
  readonly target: T;
  /** As sent, percent-encoding included: API Gateway leaves decoding to the function. */
  readonly pathParameters: Readonly<Record<string, string>>;
}

interface Resource<T> {
  readonly segments: readonly string[];
  readonly target: T;
}

const parameter = /^\{([^+}]+)(\+)?\}$/;

/**
 * Finds the most specific resource for a path, segment by segment: a fixed segment before a parameter before a greedy
 * parameter. A resource that does not accept the request, because it lacks the method, is skipped.
 *
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-set-up-simple-proxy.html
 */
export class Router<T> {
  readonly #resources: readonly Resource<T>[];

  /** @param resources paths such as `/`, `/things/{id}` or `/things/{rest+}` with their targets */
  constructor(resources: Iterable<readonly [path: string, target: T]>) {
    this.#resources = [...resources]
      .map(([path, target]) => ({ segments: segmentsOf(path), target }))
      .toSorted((one, other) => (rankOf(one) < rankOf(other) ? -1 : 1));
  }

  /** @param path as sent; trailing slashes are ignored */
  find(path: string, accepts: (target: T) => boolean = () => true): Match<T> | undefined {
    const sent = segmentsOf(path);
    for (const { segments, target } of this.#resources) {
      const pathParameters = match(segments, sent);
      if (pathParameters !== undefined && accepts(target)) return { target, pathParameters };
    }
    return undefined;
  }
}

/** Sorts in the order of precedence. */
function rankOf({ segments }: Resource<unknown>): string {
  return segments.map((segment) => (segment.endsWith('+}') ? 2 : parameter.test(segment) ? 1 : 0)).join('');
}

function match(segments: readonly string[], sent: readonly string[]): Record<string, string> | undefined {
  const parameters: Record<string, string> = {};
  for (const [index, segment] of segments.entries()) {
    const value = sent[index];
    if (value === undefined) return undefined;
    const [, name, isGreedy] = parameter.exec(segment) ?? [];
    if (name !== undefined && isGreedy !== undefined) {
      return { ...parameters, [name]: sent.slice(index).join('/') };
    }
    if (name === undefined ? value !== segment : value === '') return undefined;
    if (name !== undefined) parameters[name] = value;
  }
  return sent.length === segments.length ? parameters : undefined;
}

function segmentsOf(path: string): string[] {
  const trimmed = path.replace(/^\/+/, '').replace(/\/+$/, '');
  return trimmed === '' ? [] : trimmed.split('/');
}
