import type { HttpResponse } from '../http-message.ts';
import { escapeXml, type ManagementRequest, xmlAnswer, xmlError } from './responses.ts';

export interface StackDescription {
  readonly name: string;
  readonly id: string;
  readonly outputs: Readonly<Record<string, string>>;
  /** Milliseconds since the Unix epoch. */
  readonly createdAt: number;
}

const namespace = 'http://cloudformation.amazonaws.com/doc/2010-05-15/';

/** Describes the one stack there is. https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_DescribeStacks.html */
export function answerCloudFormation(stack: StackDescription, { body }: ManagementRequest): HttpResponse {
  const parameters = new URLSearchParams(body.toString());
  const action = parameters.get('Action');
  if (action !== 'DescribeStacks') {
    return xmlError(400, 'InvalidAction', `The action ${action} is not supported by cdk-offline`, namespace);
  }
  const wanted = parameters.get('StackName') ?? stack.name;
  if (wanted !== stack.name && wanted !== stack.id) {
    return xmlError(400, 'ValidationError', `Stack with id ${wanted} does not exist`, namespace);
  }
  const outputs = Object.entries(stack.outputs).map(([key, value]) =>
    element('member', element('OutputKey', escapeXml(key)) + element('OutputValue', escapeXml(value))),
  );
  const description = [
    element('StackName', escapeXml(stack.name)),
    element('StackId', escapeXml(stack.id)),
    element('CreationTime', new Date(stack.createdAt).toISOString()),
    element('StackStatus', 'CREATE_COMPLETE'),
    element('Outputs', outputs.join('')),
  ].join('');
  const result = element('DescribeStacksResult', element('Stacks', element('member', description)));
  const metadata = element('ResponseMetadata', element('RequestId', crypto.randomUUID()));
  return xmlAnswer(
    200,
    `<DescribeStacksResponse xmlns="${namespace}">${result}${metadata}</DescribeStacksResponse>`,
  );
}

function element(name: string, content: string): string {
  return `<${name}>${content}</${name}>`;
}
