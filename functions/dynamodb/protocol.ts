import { AwsJson1_0Protocol } from '@aws-sdk/core/protocols';
import { collectBody } from '@smithy/core/protocols';
import type {
  HandlerExecutionContext,
  HttpResponse,
  MetadataBearer,
  OperationSchema,
  SerdeFunctions,
} from '@smithy/types';

/**
 * The SDK reads an answer that is no JSON object, such as none or `null`, as an answer without members: a write as done, a
 * listing as empty. DynamoDB has an object in every answer.
 */
export class StrictProtocol extends AwsJson1_0Protocol {
  override async deserializeResponse<Output extends MetadataBearer>(
    operation: OperationSchema,
    context: HandlerExecutionContext & SerdeFunctions,
    response: HttpResponse,
  ): Promise<Output> {
    const body = await collectBody(response.body, context);
    const output = await super.deserializeResponse<Output>(
      operation,
      context,
      Object.assign(response, { body }),
    );
    // The first byte that is no white space is the brace of an object.
    if (body.find((byte) => byte > 0x20) !== 0x7b) throw new SyntaxError('The answer is not a JSON object');
    return output;
  }
}
