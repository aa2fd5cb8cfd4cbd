import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Router } from '../../src/gateway/router.ts';

function routerOf(...paths: readonly string[]): Router<string> {
  return new Router(paths.map((path) => [path, path]));
}

describe('routing', () => {
  const router = routerOf(
    '/',
    '/things',
    '/things/{id}',
    '/things/special',
    '/things/{id}/parts/{part}',
    '/{rest+}',
  );

  it.each([
    ['/', '/', {}],
    ['/things', '/things', {}],
    ['/things/', '/things', {}],
    ['/things/7', '/things/{id}', { id: '7' }],
    ['/things/7//', '/things/{id}', { id: '7' }],
    ['/things/special', '/things/special', {}],
    ['/things/special/parts/2', '/things/{id}/parts/{part}', { id: 'special', part: '2' }],
    ['/things/7/parts', '/{rest+}', { rest: 'things/7/parts' }],
    ['/things/7/parts/2/x', '/{rest+}', { rest: 'things/7/parts/2/x' }],
    ['/THINGS', '/{rest+}', { rest: 'THINGS' }],
    ['/things//7', '/{rest+}', { rest: 'things//7' }],
    ['//things', '/things', {}],
  ])('%s leads to %s', (path, target, pathParameters) => {
    expect(router.find(path)).toEqual({ target, pathParameters });
  });

  it('parameters stay percent-encoded, and an encoded slash does not separate segments', () => {
    expect(router.find('/things/a%2Fb%20c')?.pathParameters).toEqual({ id: 'a%2Fb%20c' });
    expect(router.find('/x%20y/z')?.pathParameters).toEqual({ rest: 'x%20y/z' });
  });

  it('a greedy parameter needs at least one segment', () => {
    expect(routerOf('/{rest+}').find('/')).toBeUndefined();
  });

  it('a resource that does not accept the request is skipped for a less specific one', () => {
    const accepts = (target: string) => target !== '/things';
    expect(router.find('/things', accepts)?.target).toBe('/{rest+}');
    expect(router.find('/things', () => false)).toBeUndefined();
  });

  it('prefers a fixed segment to a parameter and a parameter to a greedy one', () => {
    const segment = fc.constantFrom('a', 'b', '{x}');
    const resource = fc
      .tuple(fc.array(segment, { maxLength: 3 }), fc.boolean())
      .map(([segments, greedy]) => `/${[...segments, ...(greedy ? ['{rest+}'] : [])].join('/')}`);
    const request = fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 4 });
    fc.assert(
      fc.property(fc.uniqueArray(resource, { maxLength: 8 }), request, (resources, segments) => {
        expect(routerOf(...resources).find(`/${segments.join('/')}`)?.target).toBe(
          mostSpecific(resources, segments),
        );
      }),
    );
  });
});

/** Ranks every resource that fits, segment by segment. */
function mostSpecific(resources: readonly string[], segments: readonly string[]): string | undefined {
  const rank = (resource: string): string | undefined => {
    const parts = resource.split('/').filter((part) => part !== '');
    let ranks = '';
    for (const [index, part] of parts.entries()) {
      const segment = segments[index];
      if (segment === undefined) return undefined;
      if (part === '{rest+}') return `${ranks}2`;
      if (part !== '{x}' && part !== segment) return undefined;
      ranks += part === '{x}' ? '1' : '0';
    }
    return parts.length === segments.length ? ranks : undefined;
  };
  const fitting = resources.flatMap((resource) => {
    const ranks = rank(resource);
    return ranks === undefined ? [] : [{ resource, ranks }];
  });
  return fitting.toSorted((one, other) => (one.ranks < other.ranks ? -1 : 1))[0]?.resource;
}
