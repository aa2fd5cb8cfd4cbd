import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Deployment } from './deployment.ts';

/**
 * Takes the checks before traffic out of an assembly: CodeDeploy then calls no hook before it shifts requests. Only the template
 * changes, so that this works for code which is older than the option and would run a hook of its own. The next deployment has the
 * hook again.
 */
export function skipChecks(assembly: string, { stackName }: Pick<Deployment, 'stackName'>): void {
  const [file, ...manifests] = [
    `${stackName}.template.json`,
    `${stackName}.assets.json`,
    'manifest.json',
  ].map((name) => join(assembly, name)) as [string, string, string];
  const before = readFileSync(file, 'utf8');
  // https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-attribute-updatepolicy.html
  const template: unknown = JSON.parse(before, (key, value: unknown) =>
    key === 'BeforeAllowTrafficHook' ? undefined : value,
  );
  const after = JSON.stringify(template, undefined, 1);
  writeFileSync(file, after);
  // The CDK uploads a template under the hash of its text, and only if it has not uploaded one with this hash before.
  for (const each of manifests)
    writeFileSync(each, readFileSync(each, 'utf8').replaceAll(hashOf(before), hashOf(after)));
}

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');
