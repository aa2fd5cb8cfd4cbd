import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { z } from 'zod';

/** The workflows in .github, and their scripts as GitHub runs them. */

const step = z.object({
  name: z.string().optional(),
  id: z.string().optional(),
  uses: z.string().optional(),
  run: z.string().optional(),
  with: z.record(z.string(), z.unknown()).optional(),
  env: z.record(z.string(), z.string()).optional(),
});
const job = z.object({
  if: z.string().optional(),
  needs: z.union([z.string(), z.array(z.string())]).optional(),
  'timeout-minutes': z.number().optional(),
  permissions: z.record(z.string(), z.string()).optional(),
  environment: z.object({ name: z.string() }).optional(),
  concurrency: z.object({ group: z.string(), 'cancel-in-progress': z.boolean() }).optional(),
  steps: z.array(step),
});
const workflow = z.object({ on: z.record(z.string(), z.unknown()), jobs: z.record(z.string(), job) });
const action = z.object({ runs: z.object({ steps: z.array(step) }) });

type Step = z.infer<typeof step>;
type Job = z.infer<typeof job>;

const read = async (path: string): Promise<unknown> => parse(await readFile(path, 'utf8'));

export const workflows = new Map(
  await Promise.all(
    globSync('.github/workflows/*.yml').map(
      async (path) => [path.slice(path.lastIndexOf('/') + 1), workflow.parse(await read(path))] as const,
    ),
  ),
);
const actions: ReadonlyMap<string, z.infer<typeof action>> = new Map(
  await Promise.all(
    globSync('.github/actions/*/action.yml').map(
      async (path) => [`./${path.replace('/action.yml', '')}`, action.parse(await read(path))] as const,
    ),
  ),
);
/** The step, and those of the local action that it stands for. */
export function unfold(each: Step): Step[] {
  const local = each.uses === undefined ? undefined : actions.get(each.uses);
  return local === undefined ? [each] : local.runs.steps.flatMap((inner) => unfold(inner));
}

export function jobOf(file: string, name: string): Job {
  const found = workflows.get(file)?.jobs[name];
  if (found === undefined) throw new Error(`${file} has no job ${name}`);
  return found;
}

/** The script of a step, by the step's name. */
export function scriptOf(file: string, jobName: string, name: string): string {
  const { run } = jobOf(file, jobName).steps.find((each) => each.name === name) ?? {};
  if (run === undefined) throw new Error(`${file}, ${jobName} has no step ${name}`);
  return run;
}

/** How GitHub runs a script where `shell: bash` is set, as all workflows with scripts that matter do. */
export const bash = ['bash', '--noprofile', '--norc', '-eo', 'pipefail', '-c'] as const;
