import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, inject, it } from 'vitest';
import { localStackName } from '../../../tools/contributors/local/stack.ts';
import { resourceTypes, Stack } from '../../../tools/contributors/local/template.ts';
import { isLocal } from './support.ts';

/** Nothing of the template is served by a guess: what the local service does not know is an error that names it. */

interface Template {
  readonly Resources: Record<string, { Type: string; Properties?: Record<string, unknown> }>;
}
const synthesized = (): Template =>
  JSON.parse(
    readFileSync(join(inject('local')!.assembly, `${localStackName}.template.json`), 'utf8'),
  ) as Template;
const read = (template: object) => new Stack(localStackName, inject('local')!.assembly, template);

describe.runIf(isLocal)('the template that the local service serves', () => {
  it('has a resource of each type that is known', () => {
    const found = new Set(Object.values(synthesized().Resources).map(({ Type }) => Type));
    expect([...found].toSorted()).toEqual(resourceTypes.toSorted());
  });

  it.each(resourceTypes)('is refused with a property of %s that is not known', (type) => {
    const template = synthesized();
    const [id, resource] = Object.entries(template.Resources).find(([, { Type }]) => Type === type)!;
    resource.Properties = { ...resource.Properties, Unheard: 'of' };
    expect(() => read(template)).toThrow(
      `${id} (${type}) has the property Unheard, which the local service does not know.`,
    );
  });

  const nested = [
    ['AWS::ApiGateway::Method', 'Integration', 'Integration.Unheard'],
    ['AWS::ApiGateway::UsagePlan', 'Quota', 'Quota.Unheard'],
    ['AWS::Lambda::Function', 'LoggingConfig', 'LoggingConfig.Unheard'],
  ] as const;
  it.each(nested)('is refused with a property in %s.%s that is not known', (type, name, path) => {
    const template = synthesized();
    const { Properties = {} } = Object.values(template.Resources).find(({ Type }) => Type === type)!;
    Object.assign(Properties[name] as object, { Unheard: 'of' });
    expect(() => read(template)).toThrow(` has the property ${path}, which`);
  });

  it.each([
    [
      'a type',
      { Topic: { Type: 'AWS::SNS::Topic' } },
      'Topic (AWS::SNS::Topic): The local service does not know this type.',
    ],
    [
      'a type like a member of objects',
      { A: { Type: 'constructor' } },
      'A (constructor): The local service does not know this type.',
    ],
    [
      'an attribute',
      { A: { Type: 'AWS::IAM::Role', Condition: 'x' } },
      'The template has the property Resources.A.Condition, which',
    ],
    ['no resource', { A: 'text' }, 'The template: Resources.A: Invalid input'],
  ])('is refused with %s that is not known', (_, more, message) => {
    const template = synthesized();
    expect(() => read({ ...template, Resources: { ...template.Resources, ...more } })).toThrow(message);
  });

  it.each([
    [{ 'Fn::If': ['a', 'b', 'c'] }, 'The local service does not know Fn::If.'],
    [{ Ref: 'Nothing' }, 'There is no resource Nothing.'],
    [
      { 'Fn::GetAtt': ['TablesPetsD2B49199', 'StreamArn'] },
      'does not know the attribute StreamArn of TablesPets',
    ],
    [{ a: 1 }, 'expected string'],
  ])('is refused with the value %j', (value, message) => {
    const template = synthesized();
    const [id, { Properties = {} }] = Object.entries(template.Resources).find(
      ([, { Type }]) => Type === 'AWS::ApiGateway::Resource',
    )!;
    Properties['PathPart'] = value;
    expect(() => read(template)).toThrow(message);
    expect(() => read(template)).toThrow(id);
  });

  it('is refused with a section that is not known', () => {
    expect(() => read({ ...synthesized(), Conditions: {} })).toThrow(
      'The template has the property Conditions',
    );
  });

  it('is refused with the names of all that is not known', () => {
    const template = synthesized();
    const Resources = { ...template.Resources, A: { Type: 'AWS::A::B' }, C: { Type: 'AWS::C::D' } };
    const message = /\nA \(AWS::A::B\): .*\nC \(AWS::C::D\): /;
    expect(() => read({ ...template, Resources })).toThrow(message);
  });
});
