import { readFileSync } from 'node:fs';
import { z } from 'zod';
import type { ContextKey } from '../../../lib/configuration/context.ts';
import { usageError } from './errors.ts';

/** First part of a stack's name, unless cdk.json or `--name` has the name of a copy. */
export const defaultName = 'AnimalStore';

/** The settings of the context, without the CDK that their schema loads. */
const settings: Readonly<Record<ContextKey, true>> = {
  name: true,
  stage: true,
  repository: true,
  accountSettings: true,
  github: true,
  githubProvider: true,
  stages: true,
  overrides: true,
};

/** cdk.json. */
export const projectFile = z.looseObject({
  context: z.looseObject({ name: z.string('must be a text').optional() }, 'must be an object'),
  toolkitStackName: z.string('must be a text').optional(),
});

/** cdk.json in the working folder, as the CDK reads it. @throws ToolError if it is wrong, or has a setting where the CDK ignores it */
export function readProjectFile(): z.infer<typeof projectFile> {
  const { data, error } = projectFile.safeParse(readJson());
  if (data === undefined)
    throw usageError(
      `cdk.json: ${error.issues.map(({ path, message }) => `${path.join('.')} ${message}`).join('; ')}.`,
    );
  const misplaced = Object.keys(data).find((key) => Object.hasOwn(settings, key));
  if (misplaced !== undefined) throw usageError(`cdk.json: "${misplaced}" must stand under "context".`);
  return data;
}

function readJson(): unknown {
  try {
    return JSON.parse(readFileSync('cdk.json', 'utf8'));
  } catch (error) {
    const why = error instanceof Error ? error.message : 'it is no file';
    throw usageError(`cdk.json cannot be read (${why}). Run the command in the folder of the project.`);
  }
}

/** The stack of a stage. @param name of the copy. By default that of cdk.json. The local service has none */
export function stackNameOf(stage: string, name?: string): string {
  const ofProject = () => (stage === 'local' ? undefined : readProjectFile().context.name);
  return `${name ?? ofProject() ?? defaultName}-${stage}`;
}
