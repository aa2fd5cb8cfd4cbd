import { z } from 'zod';

/** What the checks of a deployment read of a CloudFormation template. */
export const template = z.looseObject({
  Resources: z.record(
    z.string(),
    z.looseObject({
      Type: z.string(),
      Properties: z.record(z.string(), z.unknown()).default({}),
      DeletionPolicy: z.string().optional(),
    }),
  ),
  Outputs: z.record(z.string(), z.object({ Value: z.unknown() })).default({}),
});
export type Template = z.infer<typeof template>;

/** The version of a template (lib/animal-store-stack.ts). `undefined`: it was deployed without this command. */
export function versionIn(any: unknown): string | undefined {
  return z.string().optional().parse(template.parse(any).Outputs['Commit']?.Value);
}

const statement = z.object({
  Effect: z.string(),
  Action: z.unknown().transform((actions) => [actions].flat()),
  Resource: z.unknown().transform((resources) => [resources].flat().map(textOf)),
});

/** Whether the functions of a version use a table or an index: they have a permission for everything that they use. */
export function uses({ Resources }: Template, arn: string): boolean {
  return statementsIn(Resources).some(
    ({ Effect, Action, Resource }) =>
      Effect === 'Allow' &&
      Action.some((action) => typeof action === 'string' && /^(dynamodb:|\*)/.test(action)) &&
      Resource.some((pattern) => matches(pattern, arn)),
  );
}

/** The statements of all policies, wherever they are. */
function statementsIn(value: unknown): z.infer<typeof statement>[] {
  if (typeof value !== 'object' || value === null) return [];
  const { success, data } = statement.safeParse(value);
  return success ? [data] : Object.values(value).flatMap(statementsIn);
}

/** A value of a template as text, with references as in `Fn::Sub`. */
function textOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  const [[key, content] = []] = Object.entries(value);
  if (key === 'Ref') return `\${${String(content)}}`;
  if (key === 'Fn::GetAtt') return `\${${[content].flat().join('.')}}`;
  if (key === 'Fn::Sub') return String([content].flat()[0]);
  if (key === 'Fn::Join' && Array.isArray(content))
    return (content[1] as unknown[]).map(textOf).join(String(content[0]));
  return JSON.stringify(value);
}

/** @param pattern of a policy, in which `*` stands for any text */
function matches(pattern: string, text: string): boolean {
  const expression = pattern.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`).replaceAll('*', '.*');
  return new RegExp(`^${expression}$`, 's').test(text);
}
