import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';

const project = join(import.meta.dirname, '..', '..');
const read = (path: string): string => readFileSync(join(project, path), 'utf8');
const documents = ['README.md', ...globSync('docs/*.md', { cwd: project })];

const { scripts } = z
  .object({ scripts: z.record(z.string(), z.string()) })
  .parse(JSON.parse(read('package.json')));

describe.each(documents)('%s', (path) => {
  const text = read(path);

  it('names no script that does not exist', () => {
    const named = [...text.matchAll(/\bnpm run (?:--silent )?([a-z][\w:-]*)/g)].map(([, script]) => script!);
    expect(named.filter((script) => !(script in scripts))).toEqual([]);
  });

  it('names no test that does not exist', () => {
    const existing = new Set(
      globSync('test/**/*.test.ts', { cwd: project }).map((file) => file.split('/').at(-1)),
    );
    const named = [...text.matchAll(/[\w-]+\.test\.ts/g)].map(([file]) => file);
    expect(named.filter((file) => !existing.has(file))).toEqual([]);
  });

  // But for the plots, which the benchmark draws.
  it('leads only to files and headings that exist', () => {
    const broken = [...text.matchAll(/\]\((?!https?:|[^)]*\.svg\))([^)#]*)(?:#([^)]+))?\)/g)].flatMap(
      ([link, file, heading]) => {
        const target = file === '' ? path : relative(project, join(project, dirname(path), file!));
        if (!existsSync(join(project, target))) return [link];
        return heading === undefined || anchorsOf(read(target)).includes(heading) ? [] : [link];
      },
    );
    expect(broken).toEqual([]);
  });
});

/** The anchors that GitHub makes of headings. */
function anchorsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replaceAll(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  );
}
