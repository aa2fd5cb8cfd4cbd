import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { addStacks } from '../../lib/app.ts';
import { shiftAtOnce } from '../../tools/operators/deploy/assembly.ts';
import { appOf, stacksOf } from './synthesis.ts';

it('an assembly that shifts at once has the template of the setting, under its own hash', () => {
  const folder = mkdtempSync(join(tmpdir(), 'assembly-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const app = appOf(folder, { stage: 'prod' });
  addStacks(app);
  app.synth();
  const read = (name: string) => readFileSync(join(folder, name), 'utf8');
  const before = read('manifest.json');
  shiftAtOnce(folder, 'AnimalStore-prod');

  const text = read('AnimalStore-prod.template.json');
  const overrides = { prod: { deployment: 'all-at-once' } };
  const expected = stacksOf({ stage: 'prod', overrides }).get('AnimalStore-prod')!.template.toJSON();
  expect(JSON.parse(text)).toEqual(expected);

  const hash = createHash('sha256').update(text).digest('hex');
  const url = /"s3:[^"]+"/;
  expect(url.exec(read('manifest.json'))![0]).toBe(url.exec(before)![0].replace(/[0-9a-f]{64}/, hash));
  const { files } = JSON.parse(read('AnimalStore-prod.assets.json')) as { files: Record<string, unknown> };
  expect(JSON.stringify(files[hash])).toContain(`"objectKey":"${hash}.json"`);
});
