/** Where a path leads, and with which parameters. */
export interface Match<T> {
  readonly target: T;
  /** As sent, percent-encoding included: API Gateway leaves decoding to the function. */
  readonly pathParameters: Readonly<Record<string, string>>;
}

interface Node<T> {
  target: T | undefined;
  readonly fixed: Map<string, Node<T>>;
  parameter: { readonly name: string; readonly node: Node<T> } | undefined;
  greedy: { readonly name: string; readonly target: T } | undefined;
}

/**
 * Finds the most specific resource for a path, segment by segment: a fixed one before a parameter before a greedy
 * parameter. A resource that does not accept the request, because it lacks the method, is passed over in favour of
 * a less specific one that does.
 *
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-set-up-simple-proxy.html
 */
export class Router<T> {
  readonly #root: Node<T> = newNode();

  /** @param path such as `/`, `/things/{id}` or `/things/{rest+}` */
  add(path: string, target: T): void {
    let node = this.#root;
    for (const segment of segmentsOf(path)) {
      const [, name, isGreedy] = /^\{([^+}]+)(\+)?\}$/.exec(segment) ?? [];
      if (name !== undefined && isGreedy !== undefined) {
        node.greedy = { name, target };
        return;
      }
      if (name !== undefined) {
        node.parameter ??= { name, node: newNode() };
        node = node.parameter.node;
      } else {
        const next = node.fixed.get(segment) ?? newNode<T>();
        node.fixed.set(segment, next);
        node = next;
      }
    }
    node.target = target;
  }

  /** @param path as sent; slashes at its end do not matter */
  find(path: string, accepts: (target: T) => boolean = () => true): Match<T> | undefined {
    return search(this.#root, segmentsOf(path), accepts);
  }
}

function search<T>(
  node: Node<T>,
  segments: readonly string[],
  accepts: (target: T) => boolean,
): Match<T> | undefined {
  const [segment, ...rest] = segments;
  if (segment === undefined) {
    return node.target !== undefined && accepts(node.target)
      ? { target: node.target, pathParameters: {} }
      : undefined;
  }
  const fixed = node.fixed.get(segment);
  const exact = fixed && search(fixed, rest, accepts);
  if (exact !== undefined) return exact;
  if (node.parameter !== undefined && segment !== '') {
    const found = search(node.parameter.node, rest, accepts);
    if (found !== undefined) {
      return { ...found, pathParameters: { [node.parameter.name]: segment, ...found.pathParameters } };
    }
  }
  if (node.greedy !== undefined && accepts(node.greedy.target)) {
    return { target: node.greedy.target, pathParameters: { [node.greedy.name]: segments.join('/') } };
  }
  return undefined;
}

function segmentsOf(path: string): string[] {
  const trimmed = path.replace(/^\/+/, '').replace(/\/+$/, '');
  return trimmed === '' ? [] : trimmed.split('/');
}

function newNode<T>(): Node<T> {
  return { target: undefined, fixed: new Map(), parameter: undefined, greedy: undefined };
}
