import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { functionEntries, operations } from '../../../functions/operations.ts';
import { tableAccess } from '../../../lib/table-access.ts';
import { titleCase } from '../../../lib/title-case.ts';
import { idOf, resourcesOf, stackOf } from './synthesis.ts';

/** What must exist for every entry of functions/operations.ts, also for one that is added later. */

const prod = stackOf('AnimalStore-prod');
const alarms = new Map(
  resourcesOf(prod, 'AWS::CloudWatch::Alarm').map(([, { Properties }]) => [
    z.string().parse(Properties['AlarmName']).replace('AnimalStore-prod-', ''),
    JSON.stringify(Properties),
  ]),
);

describe.each(functionEntries)('the function %s', (entry) => {
  it('has alarms for its errors and its throttles', () => {
    expect([...alarms.keys()]).toEqual(expect.arrayContaining([`${entry}-errors`, `${entry}-throttles`]));
  });

  it.each(tableAccess(entry).flatMap(({ table, calls }) => calls.map((call) => [call, table] as const)))(
    'has alarms for throttles and system errors of its calls: %s of %s',
    (call, table) => {
      const tableId = idOf(prod.Outputs[`${titleCase(table)}TableName`]?.Value);
      for (const metric of ['ThrottledRequests', 'SystemErrors']) {
        const watching = [...alarms.values()].filter(
          (alarm) =>
            alarm.includes(`"MetricName":"${metric}"`) &&
            alarm.includes(`{"Name":"Operation","Value":"${call}"}`) &&
            alarm.includes(JSON.stringify({ Name: 'TableName', Value: { Ref: tableId } })),
        );
        expect(watching).toHaveLength(1);
      }
    },
  );
});

describe.each(operations)('the operation $method $path', ({ method, path, entry }) => {
  it('is a route of the API that invokes its function', () => {
    const methods = resourcesOf(prod, 'AWS::ApiGateway::Method').map(([, { Properties }]) => Properties);
    const [resourceId] =
      resourcesOf(prod, 'AWS::ApiGateway::Resource').find(([id]) => pathOf(id) === path) ?? [];
    const own = methods.filter(
      ({ HttpMethod, ResourceId }) => HttpMethod === method && idOf(ResourceId) === resourceId,
    );
    expect(own).toHaveLength(1);
    expect(JSON.stringify(own[0]?.['Integration'])).toContain(`Functions${titleCase(entry)}Live`);
  });
});

function pathOf(id: string): string {
  const { ParentId, PathPart } = prod.Resources[id]?.Properties ?? {};
  if (PathPart === undefined) return '';
  return `${pathOf(idOf(ParentId))}/${z.string().parse(PathPart)}`;
}
