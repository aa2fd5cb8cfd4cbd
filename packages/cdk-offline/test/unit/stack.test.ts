import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Stack } from '../../src/template/stack.ts';

type Template = ConstructorParameters<typeof Stack>[1];

const empty: Template = { Parameters: {}, Mappings: {}, Conditions: {}, Resources: {}, Outputs: {} };

function stackOf(template: Partial<Template>): Stack {
  return new Stack('Shop', { ...empty, ...template });
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
  Topic: { Type: 'AWS::SNS::Topic', Properties: {} },
  Queue: { Type: 'AWS::SQS::Queue', Properties: { QueueName: 'orders' } },
  Files: { Type: 'AWS::S3::Bucket', Properties: {} },
  Role: { Type: 'AWS::IAM::Role', Properties: {} },
  Machine: { Type: 'AWS::StepFunctions::StateMachine', Properties: {} },
  Setting: { Type: 'AWS::SSM::Parameter', Properties: { Name: '/a', Value: { Ref: 'Topic' } } },
  Special: { Type: 'Custom::Thing', Properties: {} },
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
    [
      { 'Fn::GetAtt': ['Unnamed', 'StreamArn'] },
      'arn:aws:dynamodb:us-east-1:123456789012:table/Shop-Unnamed/stream/2030-01-01T00:00:00.000',
    ],
    [{ Ref: 'Topic' }, 'arn:aws:sns:us-east-1:123456789012:Shop-Topic'],
    [{ 'Fn::GetAtt': ['Topic', 'TopicName'] }, 'Shop-Topic'],
    [{ Ref: 'Queue' }, 'https://sqs.us-east-1.amazonaws.com/123456789012/orders'],
    [{ 'Fn::GetAtt': ['Queue', 'Arn'] }, 'arn:aws:sqs:us-east-1:123456789012:orders'],
    [{ Ref: 'Files' }, 'shop-files'],
    [{ 'Fn::GetAtt': ['Files', 'Arn'] }, 'arn:aws:s3:::shop-files'],
    [{ 'Fn::GetAtt': ['Role', 'Arn'] }, 'arn:aws:iam::123456789012:role/Shop-Role'],
    [{ Ref: 'Machine' }, 'arn:aws:states:us-east-1:123456789012:stateMachine:Shop-Machine'],
    [{ Ref: 'Setting' }, '/a'],
    [{ 'Fn::GetAtt': ['Setting', 'Value'] }, 'arn:aws:sns:us-east-1:123456789012:Shop-Topic'],
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
      /^Goods \(AWS::DynamoDB::Table\): No stack exports x/,
    );
    expect(() => table?.read(z.object({ Size: z.string() }))).toThrow(/^Goods .*expected string/s);
  });

  it('has the given values of its parameters', () => {
    const Parameters = {
      Name: { Type: 'String' },
      Secret: { Type: 'AWS::SSM::Parameter::Value<String>', Default: '/path' },
    };
    const content = {
      Parameters,
      Outputs: { A: { Value: { Ref: 'Name' } }, B: { Value: { Ref: 'Secret' } } },
    };
    expect(stackOf(content).outputs().unresolved).toEqual([
      expect.stringMatching(/^A: .*--parameter Name=VALUE$/),
      expect.stringMatching(/^B: .*--parameter Secret=VALUE$/),
    ]);
    const given = new Stack('Shop', { ...empty, ...content }, undefined, { Name: 'a', Secret: 'b' });
    expect(given.outputs().values).toEqual({ A: 'a', B: 'b' });
  });

  it('resolves each member of an object by itself', () => {
    const Environment = { Variables: { Known: { Ref: 'AWS::Region' }, Unknown: { Ref: 'Special' } } };
    const stack = stackOf({
      Resources: { ...Resources, F: { Type: 'AWS::Lambda::Function', Properties: { Environment } } },
    });
    const f = stack.resources('AWS::Lambda::Function').find(({ logicalId }) => logicalId === 'F');
    expect(f?.readEach(['Environment', 'Variables'], 'the variable')).toEqual(
      new Map<string, unknown>([
        ['Known', { value: 'us-east-1' }],
        [
          'Unknown',
          { problem: expect.stringMatching(/^the variable Unknown: The value of Ref for Special/) },
        ],
      ]),
    );
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
    [{ Ref: 'Special' }, /value of Ref for Special \(Custom::Thing\) is not supported/],
    [{ 'Fn::GetAtt': ['Special', 'Value'] }, /value of Ref for Special|attribute Value of Special/],
    [{ 'Fn::GetAtt': ['Topic', 'Arn'] }, /attribute Arn of Topic \(AWS::SNS::Topic\) is not supported/],
    [{ Ref: 'Nothing' }, /has no resource or parameter Nothing/],
    [{ 'Fn::GetAtt': ['Named', 'Colour'] }, /attribute Colour of Named .* is not supported/],
  ])('rejects %j', (value, message) => {
    const stack = stackOf({ Resources, Outputs: { It: { Value: value } } });
    expect(stack.outputs().unresolved).toEqual([expect.stringMatching(message)]);
  });
});
