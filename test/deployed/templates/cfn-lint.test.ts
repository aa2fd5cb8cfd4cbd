import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addStacks } from '../../../lib/app.ts';
import { appOf, contexts } from './synthesis.ts';

/**
 * Runs where cfn-lint is installed: `pip install cfn-lint`. The project's check (.ci/run) installs it.
 * https://github.com/aws-cloudformation/cfn-lint
 */
const installed = spawnSync('cfn-lint', ['--version']).status === 0;

/** The errors of cfn-lint, without warnings. One call for all templates, because each takes seconds to start. */
function lint(templates: string): { readonly errors: string; readonly status: number | null } {
  const { status, stdout, stderr } = spawnSync('cfn-lint', ['--ignore-checks', 'W', '--', templates], {
    encoding: 'utf8',
  });
  return { errors: stdout + stderr, status };
}

describe.runIf(installed)('cfn-lint', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'cfn-lint-'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('finds no error in the templates of any context', () => {
    for (const [name, context] of Object.entries(contexts)) {
      const app = appOf(join(folder, 'contexts', name), context);
      addStacks(app);
      app.synth();
    }
    expect(lint(join(folder, 'contexts', '*', '*.template.json'))).toEqual({ errors: '', status: 0 });
  });

  it('finds the error in an invalid template', () => {
    const Resources = { Topic: { Type: 'AWS::SNS::Topic', Properties: { TopicName: 1, Title: 'a' } } };
    writeFileSync(join(folder, 'wrong.template.json'), JSON.stringify({ Resources }));
    const { errors, status } = lint(join(folder, 'wrong.template.json'));
    expect(errors).toContain('E3002');
    expect(status).not.toBe(0);
  });
});
