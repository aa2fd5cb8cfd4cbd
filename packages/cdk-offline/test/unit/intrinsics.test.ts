import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Json, resolve, type Scope } from '../../src/template/intrinsics.ts';

const scope: Scope = {
  ref: (name) => (name === 'AWS::NoValue' ? undefined : `ref-${name}`),
  getAtt: (logicalId, attribute) => `${logicalId}/${attribute}`,
  exported: (name) => `export-${name}`,
  output: (stackName, name) => `${stackName}:${name}`,
  condition: (name) => name === 'Yes',
  mapping: (name, first, second) => `${name}.${first}.${second}`,
};
const resolved = (value: Json) => resolve(value, scope);

describe('intrinsic functions', () => {
  it.each<[Json, Json]>([
    [{ Ref: 'Table' }, 'ref-Table'],
    [{ 'Fn::GetAtt': ['Table', 'Arn'] }, 'Table/Arn'],
    [{ 'Fn::GetAtt': 'Table.Stream.Arn' }, 'Table/Stream.Arn'],
    [{ 'Fn::Join': ['-', ['a', { Ref: 'B' }, 3]] }, 'a-ref-B-3'],
    [{ 'Fn::Split': ['|', 'a|b'] }, ['a', 'b']],
    [{ 'Fn::Select': [1, { 'Fn::Split': ['|', 'a|b'] }] }, 'b'],
    [{ 'Fn::Select': ['0', ['a', 'b']] }, 'a'],
    [{ 'Fn::Sub': 'x-${A}-${B.Arn}-${!Left}' }, 'x-ref-A-B/Arn-${Left}'],
    [{ 'Fn::Sub': ['${Own}-${A}', { Own: { Ref: 'C' } }] }, 'ref-C-ref-A'],
    [{ 'Fn::Base64': 'hi' }, 'aGk='],
    [{ 'Fn::ImportValue': { 'Fn::Sub': '${A}-x' } }, 'export-ref-A-x'],
    [{ 'Fn::GetStackOutput': { StackName: 'S', OutputName: 'O' } }, 'S:O'],
    [{ 'Fn::FindInMap': ['Map', { Ref: 'R' }, 'k'] }, 'Map.ref-R.k'],
    [{ 'Fn::If': ['Yes', 'a', { 'Fn::GetAZs': 'never looked at' }] }, 'a'],
    [{ 'Fn::If': ['No', 'a', { Ref: 'B' }] }, 'ref-B'],
    [{ 'Fn::Equals': [{ Ref: 'A' }, 'ref-A'] }, true],
    [{ 'Fn::And': [{ Condition: 'Yes' }, { 'Fn::Not': [{ Condition: 'No' }] }] }, true],
    [{ 'Fn::Or': [{ Condition: 'No' }, { 'Fn::Equals': ['a', 'b'] }] }, false],
  ])('%j resolves to %j', (value, expected) => {
    expect(resolved(value)).toEqual(expected);
  });

  it('are resolved at any depth', () => {
    expect(resolved({ a: [{ b: { Ref: 'X' } }], c: { d: 1, e: null } })).toEqual({
      a: [{ b: 'ref-X' }],
      c: { d: 1, e: null },
    });
  });

  it('omit a property or item that is AWS::NoValue', () => {
    const none = { Ref: 'AWS::NoValue' };
    expect(resolved({ a: none, b: [none, 1], c: { 'Fn::If': ['No', 1, none] } })).toStrictEqual({ b: [1] });
  });

  it.each<[Json, RegExp]>([
    [{ 'Fn::GetAZs': '' }, /Fn::GetAZs is not supported/],
    [{ 'Fn::Transform': {} }, /Fn::Transform is not supported/],
    [{ 'Fn::Join': ['-', 'text'] }, /Fn::Join needs a list/],
    [{ 'Fn::Select': [2, ['a']] }, /Fn::Select has an index beyond the list/],
    [{ 'Fn::If': ['Yes'] }, /Fn::If needs two branches/],
    ['{{resolve:ssm:/name}}', /Dynamic references are not supported/],
  ])('%j is rejected with a message that names it', (value, message) => {
    expect(() => resolved(value)).toThrow(message);
  });

  it('leave a value without intrinsic functions unchanged', () => {
    const keys = fc.string().filter((key) => !/^(?:Ref|Condition|Fn::.*|__proto__)$/.test(key));
    const { tree } = fc.letrec<{ tree: Json }>((tie) => ({
      tree: fc.oneof(
        fc.constantFrom<Json>(null, true, false),
        fc.string().filter((text) => !text.includes('{{resolve:')),
        fc.integer(),
        fc.array(tie('tree'), { maxLength: 3 }),
        fc.dictionary(keys, tie('tree'), { maxKeys: 3 }),
      ),
    }));
    fc.assert(
      fc.property(tree, (value) => {
        expect(resolved(value)).toEqual(value);
      }),
    );
  });

  it('Fn::Split reverses Fn::Join', () => {
    fc.assert(
      fc.property(fc.array(fc.stringMatching(/^[a-z]*$/), { minLength: 1 }), (parts) => {
        expect(resolved({ 'Fn::Split': [',', { 'Fn::Join': [',', parts] }] })).toEqual(parts);
      }),
    );
  });
});
