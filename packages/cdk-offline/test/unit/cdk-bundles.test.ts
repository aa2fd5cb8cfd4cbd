import { describe, expect, it } from 'vitest';
import { bundleOptionsOf } from '../../src/dev/cdk-bundles.ts';

const record = (command: string, args: readonly string[]) => JSON.stringify({ command, args, cwd: '/app' });
const shell = (line: string) => record('bash', ['-c', line]);

/** As aws-cdk-lib 2.276 and 2.100 run esbuild. */
describe('the options of a call of esbuild', () => {
  it('are those of its arguments', () => {
    const flags = [
      '--bundle',
      '/app/src/a b.ts',
      '--target=node24,es2023',
      '--platform=node',
      '--outfile=/out/index.mjs',
    ];
    const more = [
      '--minify',
      '--sourcemap=inline',
      '--sources-content=false',
      '--external:@aws-sdk/*',
      '--external:pg',
    ];
    const maps = [
      '--loader:.html=text',
      '--define:A="b=c"',
      '--banner:js=/* a */',
      '--main-fields=module,main',
    ];
    const useless = ['--metafile=/out/index.meta.json', '--log-level=warning'];
    const words = ['--no-install', 'esbuild', ...flags, ...more, ...maps, ...useless];
    expect(bundleOptionsOf(record('npx', words))).toEqual({
      absWorkingDir: '/app',
      entryPoints: ['/app/src/a b.ts'],
      bundle: true,
      target: ['node24', 'es2023'],
      platform: 'node',
      outfile: '/out/index.mjs',
      minify: true,
      sourcemap: 'inline',
      sourcesContent: false,
      external: ['@aws-sdk/*', 'pg'],
      loader: { '.html': 'text' },
      define: { A: '"b=c"' },
      banner: { js: '/* a */' },
      mainFields: ['module', 'main'],
    });
  });

  it('are read from a line of a shell, unless it has more than this command', () => {
    const line = String.raw`npx --no-install esbuild --bundle "/app/a.ts" --outfile="/out/index.js" --define:A="\"b\"" --footer:js='it'`;
    expect(bundleOptionsOf(shell(line))).toEqual({
      absWorkingDir: '/app',
      entryPoints: ['/app/a.ts'],
      bundle: true,
      outfile: '/out/index.js',
      define: { A: '"b"' },
      footer: { js: 'it' },
    });
    for (const more of [' && cp a b', '; ls', ' > file', ' $(ls)', ' "$HOME"', ' `ls`', ' "open']) {
      expect(bundleOptionsOf(shell(line + more))).toBeUndefined();
    }
    expect(bundleOptionsOf(shell('npx esbuild --version'))).toBeUndefined();
    expect(bundleOptionsOf(record('esbuild', ['a.ts', '-x']))).toBeUndefined();
  });
});
