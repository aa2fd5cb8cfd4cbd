import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { isFullRun } from '../../support/rounds.ts';

// The script reads the text of `cdk diff`: another version of the CDK could end its warnings. The CDK takes seconds.
it.runIf(isFullRun)('diff.sh warns when a resource would be lost, and says what is new', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'diff-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const write = (path: string, content: unknown) => writeFile(join(folder, path), JSON.stringify(content));
  const table = (key: string) => {
    const properties = { KeySchema: [{ AttributeName: key, KeyType: 'HASH' }] };
    return { Resources: { Kept: { Type: 'AWS::DynamoDB::Table', Properties: properties } } };
  };
  await mkdir(join(folder, 'assembly'));
  await mkdir(join(folder, 'deployed'));
  const stack = {
    type: 'aws:cloudformation:stack',
    environment: 'aws://unknown-account/unknown-region',
  };
  const artifact = (name: string) => ({ ...stack, properties: { templateFile: `${name}.template.json` } });
  await write('assembly/manifest.json', {
    version: '36.0.0',
    artifacts: { Old: artifact('Old'), New: artifact('New') },
  });
  for (const name of ['Old', 'New']) await write(`assembly/${name}.template.json`, table('id'));
  await write('deployed/Old.json', table('name'));
  const folders = [join(folder, 'assembly'), join(folder, 'deployed')];
  const { stdout } = await promisify(execFile)('.github/scripts/diff.sh', [...folders, 'New', 'Old']);
  const [, added, changed] = stdout.split(/^== .+$/m);
  expect(added?.trim()).toBe('Not deployed yet: everything is new.');
  expect(changed).toMatch(/^stop: Kept \(AWS::DynamoDB::Table\) is replaced by a new one/m);
  expect(changed).toContain('WARNING: deletes or replaces resources.\n');
  expect(changed).toContain('[~] AWS::DynamoDB::Table Kept');
  expect(changed).not.toContain('WARNING: changes permissions.');
});
