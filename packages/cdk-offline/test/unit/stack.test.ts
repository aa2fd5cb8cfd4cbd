import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Stack } from '../../src/template/stack.ts';

type Template = ConstructorParameters<typeof Stack>[1];

function stackOf(template: Partial<Template>): Stack {
  return new Stack('Shop', {
    Parameters: {},
    Mappings: {},
    Conditions: {},
    Resources: {},
    Outputs: {},
    ...template,
  });
}

function valueOf(stack: Partial<Template>, Value: Template['Outputs'][string]['Value']): string | undefined {
  return stackOf({ ...stack, Outputs: { It: { Value } } }).outputs().values['It'];
}

const Resources: Template['Resources'] = {
  Named: {
    Type: 'AWS::DynamoDB::Table',
    Properties: { TableName: { 'Fn::Sub': '${AWS::StackName}-goods' } },
  },
  Unnamed: { Type: 'AWS::DynamoDB::GlobalTable', Properties: {} },
  Function: { Type: 'AWS::Lambda::Function', Properties: {} },
  Version: { Type: 'AWS::Lambda::Version', Properties: { FunctionName: { Ref: 'Function' } } },
  Live: { Type: 'AWS::Lambda::Alias', Properties: { FunctionName: { Ref: 'Function' }, Name: 'live' } },
  Api: { Type: 'AWS::ApiGateway::RestApi', Properties: {} },
  Stage: { Type: 'AWS::ApiGateway::Stage', Properties: { StageName: 'v7' } },
};

describe('a stack', () => {
  it.each([
    [{ Ref: 'Named' }, 'Shop-goods'],
    [{ Ref: 'Unnamed' }, 'Shop-Unnamed'],
    [{ 'Fn::GetAtt': ['Unnamed', 'Arn'] }, 'arn:aws:dynamodb:us-east-1:123456789012:table/Shop-Unnamed'],
    [{ 'Fn::GetAtt': ['Function', 'Arn'] }, 'arn:aws:lambda:us-east-1:123456789012:function:Shop-Function'],
    [{ Ref: 'Version' }, 'arn:aws:lambda:us-east-1:123456789012:function:Shop-Function:1'],
    [{ 'Fn::GetAtt': ['Version', 'Version'] }, '1'],
    [{ Ref: 'Live' }, 'arn:aws:lambda:us-east-1:123456789012:function:Shop-Function:live'],
    [{ Ref: 'Stage' }, 'v7'],
    [{ Ref: 'AWS::Region' }, 'us-east-1'],
  ])('%j is %s', (value, expected) => {
    expect(valueOf({ Resources }, value)).toBe(expected);
  });

  it('an API has a stable ID of ten letters and digits, and its root has another one', () => {
    const id = valueOf({ Resources }, { Ref: 'Api' });
    const root = valueOf({ Resources }, { 'Fn::GetAtt': ['Api', 'RootResourceId'] });
    expect(id).toMatch(/^[0-9a-z]{10}$/);
    expect(root).toMatch(/^[0-9a-z]{10}$/);
    expect(root).not.toBe(id);
    expect(valueOf({ Resources }, { Ref: 'Api' })).toBe(id);
  });

  it('has only the resources and outputs whose conditions hold', () => {
    const stack = stackOf({
      Parameters: { Mode: { Type: 'String', Default: 'small' } },
      Conditions: {
        Small: { 'Fn::Equals': [{ Ref: 'Mode' }, 'small'] },
        Large: { 'Fn::Not': [{ Condition: 'Small' }] },
      },
      Resources: {
        Here: { Type: 'AWS::DynamoDB::Table', Properties: {}, Condition: 'Small' },
        Gone: { Type: 'AWS::DynamoDB::Table', Properties: {}, Condition: 'Large' },
      },
      Outputs: { Here: { Value: 'a', Condition: 'Small' }, Gone: { Value: 'b', Condition: 'Large' } },
    });
    expect(stack.resources('AWS::DynamoDB::Table').map(({ logicalId }) => logicalId)).toEqual(['Here']);
    expect(stack.outputs().values).toEqual({ Here: 'a' });
  });

  it('resolves only the requested properties, and an error names the resource', () => {
    const [table] = stackOf({
      Resources: {
        Goods: {
          Type: 'AWS::DynamoDB::Table',
          Properties: { Size: { 'Fn::Select': [0, [7]] }, Other: { 'Fn::ImportValue': 'x' } },
        },
      },
    }).resources('AWS::DynamoDB::Table');
    expect(table?.read(z.object({ Size: z.number() }))).toEqual({ Size: 7 });
    expect(() => table?.read(z.object({ Other: z.string() }))).toThrow(
      /^Goods \(AWS::DynamoDB::Table\): Fn::ImportValue/,
    );
    expect(() => table?.read(z.object({ Size: z.string() }))).toThrow(/^Goods .*expected string/s);
  });

  it('lists the outputs that cannot be resolved', () => {
    const { values, unresolved } = stackOf({
      Parameters: { Bootstrap: { Type: 'AWS::SSM::Parameter::Value<String>', Default: '/cdk/version' } },
      Outputs: { Known: { Value: 1 }, Unknown: { Value: { Ref: 'Bootstrap' } } },
    }).outputs();
    expect(values).toEqual({ Known: '1' });
    expect(unresolved).toEqual([
      expect.stringMatching(/^Unknown: The parameter Bootstrap is read from Systems Manager/),
    ]);
  });

  it.each([
    [{ Ref: 'Nothing' }, /has no resource or parameter Nothing/],
    [{ 'Fn::GetAtt': ['Named', 'Colour'] }, /attribute Colour of Named .* is not supported/],
  ])('rejects %j', (value, message) => {
    const stack = stackOf({ Resources, Outputs: { It: { Value: value } } });
    expect(stack.outputs().unresolved).toEqual([expect.stringMatching(message)]);
  });
});
