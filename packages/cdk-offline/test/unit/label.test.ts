import { expect, it } from 'vitest';
import { labelsOf } from '../../src/lambda/label.ts';

it('functions are called after their files, else after their constructs, else by their logical IDs', () => {
  const named = (logicalId: string, handler: string, constructPath?: string) => ({
    logicalId,
    handler,
    constructPath,
  });
  const labels = labelsOf([
    named('A1', 'get-pet.handler', 'App/Functions/GetPet/Resource'),
    named('B1', 'index.handler', 'App/Things/Get/Resource'),
    named('C1', 'things.list', 'App/List/Resource'),
    named('D1', 'same.handler', 'App/One/Resource'),
    named('E1', 'same.handler', 'App/Two/Resource'),
    named('F1', 'index.other'),
    named('G1', ''),
  ]);
  expect([...labels.values()]).toEqual(['get-pet', 'Things/Get', 'things.list', 'One', 'Two', 'F1', 'G1']);
});
