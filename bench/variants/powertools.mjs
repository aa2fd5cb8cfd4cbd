import { Logger } from '@aws-lambda-powertools/logger';
import { injectLambdaContext } from '@aws-lambda-powertools/logger/middleware';
import { Metrics, MetricUnit } from '@aws-lambda-powertools/metrics';
import { logMetrics } from '@aws-lambda-powertools/metrics/middleware';
import { Tracer } from '@aws-lambda-powertools/tracer';
import { captureLambdaHandler } from '@aws-lambda-powertools/tracer/middleware';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, QueryCommand } from '@aws-sdk/lib-dynamodb';
import middy from '@middy/core';

// The listing alone, without keys, limits or paging, logged, measured and traced in the way of
// https://docs.aws.amazon.com/powertools/typescript/latest/
const serviceName = 'animal-store';
const logger = new Logger({ serviceName });
const metrics = new Metrics({ namespace: 'AnimalStore', serviceName });
const tracer = new Tracer({ serviceName });
const client = DynamoDBDocumentClient.from(tracer.captureAWSv3Client(new DynamoDBClient()));

export const handler = middy(async (event) => {
  const { Items: pets } = await client.send(
    new QueryCommand({
      TableName: process.env.PETS_TABLE,
      IndexName: 'byStatus',
      KeyConditionExpression: '#status = :status',
      ExpressionAttributeNames: { '#status': 'status' },
      ExpressionAttributeValues: { ':status': event.queryStringParameters.status },
      ScanIndexForward: false,
      Limit: 20,
    }),
  );
  metrics.addMetric('PetsListed', MetricUnit.Count, 1);
  return { statusCode: 200, body: JSON.stringify(pets) };
})
  .use(captureLambdaHandler(tracer))
  .use(injectLambdaContext(logger))
  .use(logMetrics(metrics));
