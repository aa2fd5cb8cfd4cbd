import { describe, expect, it } from 'vitest';
import type { AssembledStack } from '../../src/template/assembly.ts';
import { StackWithImports } from '../../src/template/stack-with-imports.ts';

const empty = { Parameters: {}, Mappings: {}, Conditions: {}, Resources: {}, Outputs: {} };

const stateless: AssembledStack = {
  assetParameters: {},
  name: 'Stateless',
  template: {
    ...empty,
    Outputs: {
      Table: { Value: { 'Fn::ImportValue': 'Stateful:Table' } },
      Other: { Value: { 'Fn::GetStackOutput': { StackName: 'Weak', OutputName: 'Plain' } } },
      Nowhere: { Value: { 'Fn::ImportValue': 'Nothing' } },
    },
  },
};
const stateful: AssembledStack = {
  assetParameters: {},
  name: 'Stateful',
  template: {
    ...empty,
    Resources: { Goods: { Type: 'AWS::DynamoDB::Table', Properties: {} } },
    Outputs: {
      Goods: { Value: { Ref: 'Goods' }, Export: { Name: { 'Fn::Sub': '${AWS::StackName}:Table' } } },
    },
  },
};
const weak: AssembledStack = {
  assetParameters: {},
  name: 'Weak',
  template: { ...empty, Outputs: { Plain: { Value: 'plain' } } },
};
const unused: AssembledStack = { assetParameters: {}, name: 'Unused', template: empty };

describe('stacks that import from each other', () => {
  const stacks = new StackWithImports(stateless, [unused, stateful, weak], {});

  it('have the exported values and outputs', () => {
    const { values, unresolved } = stacks.main.outputs();
    expect(values).toEqual({ Table: 'Stateful-Goods', Other: 'plain' });
    expect(unresolved).toEqual(['Nowhere: No stack of the assembly exports Nothing']);
  });

  it('are involved only when something is imported from them', () => {
    expect(stacks.involved.map(({ name }) => name)).toEqual(['Stateless', 'Stateful', 'Weak']);
  });

  it('name a resource of another stack with that stack', () => {
    const [main = stacks.main, other = stacks.main] = stacks.involved;
    expect([stacks.idOf(main, 'A'), stacks.idOf(other, 'A')]).toEqual(['A', 'Stateful.A']);
  });

  it('reject a value for a parameter that does not exist', () => {
    expect(() => new StackWithImports(stateless, [], { Size: '1' })).toThrow(
      'Stateless has no parameter Size',
    );
  });
});
