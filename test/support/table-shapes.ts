import type { CreateTableCommandInput } from '@aws-sdk/client-dynamodb';
import { Tables } from 'dynamodb-interleavings/simulation';
import { type TableName, tableNames } from '../../functions/tables.ts';
import {
  type KeyAttributes,
  tableDefinitions,
  timeToLiveAttribute,
} from '../../lib/storage/table-definitions.ts';
import { titleCase } from '../../lib/title-case.ts';

/** What creates a table like that of the stack. */
export function tableShape(name: TableName, tableName = titleCase(name)) {
  const { keys, indexes = {}, isTemporary = false } = tableDefinitions[name];
  const types = Object.entries(Object.assign({}, keys, ...Object.values(indexes)) as KeyAttributes);
  return {
    TableName: tableName,
    KeySchema: keySchemaOf(keys),
    AttributeDefinitions: types.map(([AttributeName, AttributeType]) => ({ AttributeName, AttributeType })),
    ...(Object.keys(indexes).length > 0 && {
      GlobalSecondaryIndexes: Object.entries(indexes).map(([IndexName, ofIndex]) => ({
        IndexName,
        KeySchema: keySchemaOf(ofIndex),
        Projection: { ProjectionType: 'ALL' as const },
      })),
    }),
    TimeToLiveSpecification: { AttributeName: timeToLiveAttribute, Enabled: isTemporary },
  };
}

function keySchemaOf(keys: KeyAttributes): CreateTableCommandInput['KeySchema'] & {} {
  return Object.keys(keys).map((AttributeName, index) => ({
    AttributeName,
    KeyType: index === 0 ? 'HASH' : 'RANGE',
  }));
}

/** The tables of the service, to be made in memory. */
export const tableShapes = tableNames.map((name) => tableShape(name));

/** The tables of the service in memory. `now`: milliseconds since the Unix epoch. */
export function serviceTables(now: () => number): Tables {
  return new Tables(tableShapes, now);
}
