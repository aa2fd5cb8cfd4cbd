import { z } from 'zod';
import type { HttpResponse } from '../http/response.ts';
import { jsonAnswer, jsonError, type ManagementRequest } from './answers.ts';

const putLogEvents = z.object({
  logGroupName: z.string(),
  logEvents: z.array(z.object({ message: z.string() })),
});

/** Writing to CloudWatch Logs. https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutLogEvents.html */
export function answerLogs(
  onLog: (logGroupName: string, line: string) => void,
  { headers, body }: ManagementRequest,
): HttpResponse {
  const operation = headers['x-amz-target']?.replace('Logs_20140328.', '');
  if (operation === 'CreateLogGroup' || operation === 'CreateLogStream') return jsonAnswer(200, {});
  if (operation !== 'PutLogEvents') {
    return jsonError(
      400,
      'UnknownOperationException',
      `The operation ${operation} is not supported by cdk-offline`,
    );
  }
  let events: unknown;
  try {
    events = JSON.parse(body.toString());
  } catch {
    return jsonError(400, 'SerializationException', 'The request body is not valid JSON');
  }
  const parsed = putLogEvents.safeParse(events);
  if (!parsed.success) return jsonError(400, 'InvalidParameterException', z.prettifyError(parsed.error));
  const { logGroupName, logEvents } = parsed.data;
  for (const { message } of logEvents) onLog(logGroupName, message);
  return jsonAnswer(200, { nextSequenceToken: '0' });
}
