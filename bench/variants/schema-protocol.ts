import { AwsJson1_0Protocol } from '@aws-sdk/core/protocols';
import {
  errorTypeRegistries,
  type ServiceInputTypes,
  type ServiceOutputTypes,
} from '@aws-sdk/client-dynamodb';
import { DynamoDBJsonCodec2 } from '@aws-sdk/dynamodb-codec';
import { parseUrl } from '@smithy/core/protocols';
import { getSchemaSerdePlugin } from '@smithy/core/schema';
import { fromBase64, fromUtf8, toBase64, toUtf8 } from '@smithy/core/serde';
import { streamCollector } from '@smithy/node-http-handler';
import type { Pluggable } from '@smithy/types';

/** Replaces functions/dynamodb-json.ts: the SDK's protocol. `dynamodb-codec` is a dependency of `client-dynamodb`. */
export function dynamoDbJson(url: URL): Pluggable<ServiceInputTypes, ServiceOutputTypes> {
  const protocol = new AwsJson1_0Protocol({
    defaultNamespace: 'com.amazonaws.dynamodb',
    serviceTarget: 'DynamoDB_20120810',
    errorTypeRegistries,
    jsonCodec: new DynamoDBJsonCodec2(),
  });
  const config = {
    protocol,
    endpoint: async () => parseUrl(url),
    disableHostPrefix: true,
    urlParser: parseUrl,
    base64Decoder: fromBase64,
    base64Encoder: toBase64,
    utf8Decoder: fromUtf8,
    utf8Encoder: toUtf8,
    streamCollector,
    requestHandler: undefined as never,
  };
  return getSchemaSerdePlugin(config);
}
