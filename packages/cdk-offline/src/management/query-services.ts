import { accountId } from '../template/aws.ts';
import type { HttpResponse } from '../http/response.ts';
import type { ManagementRequest } from './answers.ts';

/** The services that use the SDK's query protocol: CloudFormation and STS. */

export interface StackDescription {
  readonly name: string;
  readonly id: string;
  readonly outputs: Readonly<Record<string, string>>;
  /** Milliseconds since the Unix epoch. */
  readonly createdAt: number;
}

const formationNamespace = 'http://cloudformation.amazonaws.com/doc/2010-05-15/';
const stsNamespace = 'https://sts.amazonaws.com/doc/2011-06-15/';

/** https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_DescribeStacks.html */
export function answerCloudFormation(stack: StackDescription, { body }: ManagementRequest): HttpResponse {
  const parameters = new URLSearchParams(body.toString());
  const action = parameters.get('Action');
  if (action !== 'DescribeStacks') return unsupported(formationNamespace, action);
  const wanted = parameters.get('StackName') ?? stack.name;
  if (wanted !== stack.name && wanted !== stack.id) {
    return errorAnswer(formationNamespace, 'ValidationError', `Stack with id ${wanted} does not exist`);
  }
  const outputs = Object.entries(stack.outputs).map(([OutputKey, OutputValue]) =>
    element('member', elements({ OutputKey, OutputValue })),
  );
  const description = elements({
    StackName: stack.name,
    StackId: stack.id,
    CreationTime: new Date(stack.createdAt).toISOString(),
    StackStatus: 'CREATE_COMPLETE',
  });
  const member = element('member', description + element('Outputs', outputs.join('')));
  return resultAnswer(formationNamespace, action, element('Stacks', member));
}

/** https://docs.aws.amazon.com/STS/latest/APIReference/API_GetCallerIdentity.html */
export function answerSts({ body }: ManagementRequest): HttpResponse {
  const action = new URLSearchParams(body.toString()).get('Action');
  if (action !== 'GetCallerIdentity') return unsupported(stsNamespace, action);
  const identity = { Arn: `arn:aws:iam::${accountId}:user/local`, UserId: 'local', Account: accountId };
  return resultAnswer(stsNamespace, action, elements(identity));
}

function unsupported(namespace: string, action: string | null): HttpResponse {
  return errorAnswer(namespace, 'InvalidAction', `The action ${action} is not supported by cdk-offline`);
}

function errorAnswer(namespace: string, Code: string, Message: string): HttpResponse {
  const error = element('Error', elements({ Type: 'Sender', Code, Message }));
  return xmlAnswer(400, namespace, 'ErrorResponse', error + requestId());
}

function resultAnswer(namespace: string, action: string, result: string): HttpResponse {
  const content = element(`${action}Result`, result) + element('ResponseMetadata', requestId());
  return xmlAnswer(200, namespace, `${action}Response`, content);
}

function xmlAnswer(status: number, namespace: string, root: string, content: string): HttpResponse {
  const body = Buffer.from(`<${root} xmlns="${namespace}">${content}</${root}>`);
  return { status, headers: [['Content-Type', 'text/xml']], body };
}

function requestId(): string {
  return element('RequestId', crypto.randomUUID());
}

function elements(texts: Readonly<Record<string, string>>): string {
  return Object.entries(texts)
    .map(([name, text]) => element(name, text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')))
    .join('');
}

function element(name: string, content: string): string {
  return `<${name}>${content}</${name}>`;
}
