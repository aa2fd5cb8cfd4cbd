import {
  IdempotencyAlreadyInProgressError,
  IdempotencyConfig,
  IdempotencyValidationError,
  makeIdempotent,
} from '@aws-lambda-powertools/idempotency';
import { DynamoDBPersistenceLayer } from '@aws-lambda-powertools/idempotency/dynamodb';
import { PutCommand } from '@aws-sdk/lib-dynamodb';
import httpJsonBodyParser from '@middy/http-json-body-parser';
import * as z from 'zod';
import {
  answer,
  documents,
  dynamoDb,
  inProgress,
  keyReused,
  parse,
  pipeline,
  statuses,
} from './pipeline.mjs';

const newPetSchema = z.object({
  name: z.string().trim().min(1).max(200),
  categoryId: z.number().int(),
  status: z.enum(statuses).default('available'),
});
const idempotencyKeySchema = z.string().regex(/^[ -~]{1,255}$/);

const config = new IdempotencyConfig({
  eventKeyJmesPath: 'key',
  payloadValidationJmesPath: 'body',
  expiresAfterSeconds: 86_400,
});

async function create({ pet }) {
  const created = { id: Date.now() * 2_048 + Math.floor(Math.random() * 2_048), ...pet };
  await documents.send(
    new PutCommand({
      TableName: process.env.PETS_TABLE,
      Item: created,
      ConditionExpression: 'attribute_not_exists(id)',
    }),
  );
  return created;
}

// This wraps the function and not the handler, because middy runs no `after` when a middleware answers.
const createOnce = makeIdempotent(create, {
  persistenceStore: new DynamoDBPersistenceLayer({
    tableName: process.env.PARTS_IDEMPOTENCY_TABLE,
    awsSdkV3Client: dynamoDb,
  }),
  config,
});

export const handler = pipeline('createPet')
  .use(httpJsonBodyParser())
  .handler(async ({ headers, body, requestContext }, context) => {
    const pet = parse(newPetSchema, body);
    const idempotencyKey = parse(idempotencyKeySchema.optional(), headers['idempotency-key']);
    config.registerLambdaContext(context);
    try {
      const key = idempotencyKey && `${requestContext.authorizer.keyHash}:${idempotencyKey}`;
      const created = await (key === undefined ? create({ pet }) : createOnce({ key, body, pet }));
      const url = `https://${requestContext.domainName}${requestContext.path}/${created.id}`;
      return answer(201, created, { Location: url });
    } catch (error) {
      if (error instanceof IdempotencyValidationError) throw keyReused();
      if (error instanceof IdempotencyAlreadyInProgressError) throw inProgress();
      throw error;
    }
  });
