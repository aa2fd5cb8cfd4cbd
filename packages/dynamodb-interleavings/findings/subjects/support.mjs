import { createRequire } from 'node:module';
import { DynamoDB } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocument } from '@aws-sdk/lib-dynamodb';

export const require = createRequire(import.meta.url);
export const versionOf = (name) => require(`../node_modules/${name}/package.json`).version;

/** A table whose keys are strings. @param indexes the keys of each global secondary index, by its name */
export function table(name, partition, sort, indexes = {}) {
  const keys = (of) =>
    of.map((AttributeName, index) => ({ AttributeName, KeyType: index === 0 ? 'HASH' : 'RANGE' }));
  const own = [partition, ...(sort ? [sort] : [])];
  const attributes = new Set([...own, ...Object.values(indexes).flat()]);
  return {
    TableName: name,
    KeySchema: keys(own),
    AttributeDefinitions: [...attributes].map((AttributeName) => ({ AttributeName, AttributeType: 'S' })),
    ...(Object.keys(indexes).length > 0 && {
      GlobalSecondaryIndexes: Object.entries(indexes).map(([IndexName, of]) => ({
        IndexName,
        KeySchema: keys(of),
        Projection: { ProjectionType: 'ALL' },
      })),
    }),
  };
}

export const times = (count, request) => Array.from({ length: count }, () => request);

/** What the code of each request was told. */
export const told = (outcomes) => outcomes.map(({ value, reason }) => value ?? { error: String(reason) });

export const documents = (client, options) => DynamoDBDocument.from(new DynamoDB(client), options);

/** One call of the SDK, which repeats it, is not sent or its answer is lost. */
export const lostAnswers = { faults: 1, kinds: ['lostBefore', 'lostAfter'] };

/** Not more than `limit` of the requests were admitted. */
export const atMost =
  (limit) =>
  ({ outcomes }) => {
    const admitted = told(outcomes).filter((each) => each.admitted).length;
    return admitted > limit ? `${admitted} requests were admitted.` : undefined;
  };

let loaded = 0;
/** A module of its own for a request, as each process has. For a library that keeps its client in the module. */
export const loadAnew = (file) =>
  import(`${new URL(`../node_modules/${file}`, import.meta.url)}?${(loaded += 1)}`);
