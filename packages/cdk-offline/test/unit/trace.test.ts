import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { readableTrace } from '../../src/lambda/trace.ts';
import { removeDirectory } from '../integration/template.ts';

it('a stack trace keeps the frames of the function, with paths that can be opened', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'trace ü-'));
  onTestFinished(() => removeDirectory(folder));
  const file = join(folder, '100%25.ts');
  await writeFile(file, '');
  const own = new URL('../../src/lambda/handler.ts', import.meta.url).href;
  const text = [
    'RangeError: at the end',
    `    at fails (${encodeURI(join(folder, 'a b.ts'))}:2:9)`,
    `    at async Promise.all (index 0)`,
    `    at handler (${file}:5:24)`,
    `    at async ${pathToFileURL(join(folder, 'x.mjs')).href}:1:2`,
    `    at new Thing (${folder}/out/../src/y.ts:3:4)`,
    `    at runInvocation (${own}:22:35)`,
    `    at ${own}:70:20`,
    '    at process.processTicksAndRejections (node:internal/process/task_queues:91:21)',
    '    at node:internal/main/worker_thread:1:1',
    'not at /a%20frame:1:2',
  ];
  expect(readableTrace(text.join('\n')).split('\n')).toEqual([
    'RangeError: at the end',
    `    at fails (${join(folder, 'a b.ts')}:2:9)`,
    '    at async Promise.all (index 0)',
    `    at handler (${file}:5:24)`,
    `    at async ${join(folder, 'x.mjs')}:1:2`,
    `    at new Thing (${join(folder, 'src/y.ts')}:3:4)`,
    'not at /a%20frame:1:2',
  ]);
});
