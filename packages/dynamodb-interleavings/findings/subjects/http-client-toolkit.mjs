import { DynamoDBDedupeStore } from '@http-client-toolkit/store-dynamodb';
import { documents, table, versionOf } from './support.mjs';

const hash = 'GET /prices';
const storeOf = (client, jobTimeoutMs) =>
  new DynamoDBDedupeStore({
    client: documents(client),
    tableName: 'Toolkit',
    jobTimeoutMs,
    pollIntervalMs: 500,
  });

/** Joins the job, or does it, as `HttpClient` of the toolkit does. */
const fetchOnce =
  (value, jobTimeoutMs = 300_000) =>
  async ({ client }) => {
    const store = storeOf(client, jobTimeoutMs);
    const { isOwner, jobId } = await store.registerOrJoin(hash);
    if (isOwner) await store.complete(hash, value);
    return { isOwner, jobId, ...(isOwner && { value }) };
  };

const subject = {
  library: '@http-client-toolkit/store-dynamodb, DynamoDBDedupeStore',
  version: versionOf('@http-client-toolkit/store-dynamodb'),
  promise: 'https://www.npmjs.com/package/@http-client-toolkit/store-dynamodb',
  tables: [table('Toolkit', 'pk', 'sk')],
};

export const httpClientToolkitSubjects = [
  {
    ...subject,
    property: 'A job that has begun has an owner, although an answer of DynamoDB is lost.',
    requests: [fetchOnce('first')],
    faults: 1,
    kinds: ['lostAfter'],
    check: ({ outcomes, tables }) => {
      const [job] = tables.items('Toolkit');
      return job?.status === 'pending' && outcomes.every(({ status }) => status === 'fulfilled')
        ? 'The job is pending, and nobody owns it.'
        : undefined;
    },
  },
  {
    ...subject,
    property: 'An owner whose job has timed out does not fail the job that came after it.',
    items: {
      Toolkit: [
        { pk: `DEDUPE#${hash}`, sk: `DEDUPE#${hash}`, jobId: 'first', status: 'failed', createdAt: 0 },
      ],
    },
    requests: [
      async ({ client }) => {
        await storeOf(client, 300_000).fail(hash, new Error('the first job has failed'));
        return { failed: 'first' };
      },
      fetchOnce('second'),
    ],
    check: ({ outcomes, tables }) => {
      const [job] = tables.items('Toolkit');
      return outcomes[1].value?.isOwner && job.jobId === outcomes[1].value.jobId && job.status === 'failed'
        ? 'The second job has a result, and is marked as failed by the owner of the first.'
        : undefined;
    },
  },
];
