import { QueryCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import { answer, documents, parse, pipeline, statuses } from './pipeline.mjs';

const querySchema = z.object({
  limit: z.coerce.number().int().min(1).max(100).default(20),
  status: z.enum(statuses).optional(),
  cursor: z.coerce.number().int().optional(),
});

const petSchema = z.object({
  id: z.number().int(),
  name: z.string(),
  categoryId: z.number().int(),
  status: z.enum(statuses),
});

/** One animal more than the page has shows whether there is another page. */
async function read(status, { limit, cursor }) {
  const { Items: pets = [] } = await documents.send(
    new QueryCommand({
      TableName: process.env.PETS_TABLE,
      IndexName: 'byStatus',
      KeyConditionExpression:
        cursor === undefined ? '#status = :status' : '#status = :status AND id < :cursor',
      ExpressionAttributeNames: { '#status': 'status' },
      ExpressionAttributeValues: { ':status': status, ...(cursor !== undefined && { ':cursor': cursor }) },
      ScanIndexForward: false,
      Limit: limit + 1,
    }),
  );
  return z.array(petSchema).parse(pets);
}

export const handler = pipeline('listPets').handler(async ({ queryStringParameters, requestContext }) => {
  const query = parse(querySchema, queryStringParameters ?? {});
  const wanted = query.status === undefined ? statuses : [query.status];
  const parts = await Promise.all(wanted.map((status) => read(status, query)));
  const pets = parts.flat().toSorted((a, b) => b.id - a.id);
  const page = pets.slice(0, query.limit);
  if (pets.length <= query.limit) return answer(200, page);
  const next = new URLSearchParams({ ...queryStringParameters, cursor: String(page.at(-1).id) });
  const url = `https://${requestContext.domainName}${requestContext.path}?${next}`;
  return answer(200, page, { Link: `<${url}>; rel="next"` });
});
