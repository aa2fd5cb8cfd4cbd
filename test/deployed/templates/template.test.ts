import { expect, it } from 'vitest';
import { type Stack, stackOf } from './synthesis.ts';

/**
 * The properties of the resources that no other test states, for a review of every change:
 * `npx vitest run --project templates test/deployed/templates/template.test.ts -u`. What must never change by accident has
 * tests of its own, with the reasons.
 */
it('the templates are the reviewed ones', async () => {
  const prod = lines(stackOf('AnimalStore-prod'));
  const others = ['AnimalStore-staging', 'Shelter-prod'].map((name) => {
    const different = lines(stackOf(name)).filter(
      (line) => !prod.includes(line.replaceAll(name, 'AnimalStore-prod')),
    );
    return `\n# ${name}, where it differs\n\n${different.join('\n')}\n`;
  });
  const shared = ['AnimalStore-account', 'AnimalStore-delivery'].map(
    (name) => `\n# ${name}\n\n${lines(stackOf(name)).join('\n')}\n`,
  );
  const text = `# AnimalStore-prod\n\n${prod.join('\n')}\n${[...others, ...shared].join('')}`;
  await expect(text).toMatchFileSnapshot('templates.snapshot.txt');
});

/** Types that have nothing to review, or are as large as generated code (dashboards). */
const left = new Set(['AWS::CloudWatch::Dashboard', 'AWS::Lambda::Version']);

/** The same for every alarm, see observability.test.ts; or the code of the functions. */
const common = new Set(['AlarmActions', 'Code', 'ComparisonOperator', 'OKActions', 'TreatMissingData']);

/** One line for each property of each resource, without what depends on the code of the functions. */
function lines({ Resources }: Stack): string[] {
  const stable = (id: string): string => id.replaceAll(/(CurrentVersion|Deployment)\w{8}[0-9a-f]{32}/g, '$1');
  return Object.entries(Resources)
    .filter(([, { Type }]) => !left.has(Type))
    .flatMap(([id, { Type, Properties }]) => {
      const name = `${Type.replace('AWS::', '')} ${stable(id)}`;
      return [
        name,
        ...Object.entries(Properties)
          .filter(([property]) => !common.has(property))
          .map(([property, value]) => `${stable(id)}.${property}: ${stable(compact(value))}`),
      ];
    });
}

/** JSON with references as in `Fn::Sub`. */
function compact(value: unknown): string {
  if (typeof value === 'string') return value;
  const text = JSON.stringify(value, (_, each: unknown) => {
    if (typeof each !== 'object' || each === null) return each;
    const [[key, content] = []] = Object.entries(each);
    if (key === 'Ref') return `\${${String(content)}}`;
    if (key === 'Fn::GetAtt' && Array.isArray(content)) return `\${${content.join('.')}}`;
    return each;
  });
  return text.replaceAll('"', "'");
}
