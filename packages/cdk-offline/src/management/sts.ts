import type { HttpResponse } from '../http-message.ts';
import { accountId } from '../aws.ts';
import { type ManagementRequest, xmlAnswer, xmlError } from './responses.ts';

const namespace = 'https://sts.amazonaws.com/doc/2011-06-15/';

/** https://docs.aws.amazon.com/STS/latest/APIReference/API_GetCallerIdentity.html */
export function answerSts({ body }: ManagementRequest): HttpResponse {
  const action = new URLSearchParams(body.toString()).get('Action');
  if (action !== 'GetCallerIdentity') {
    return xmlError(400, 'InvalidAction', `The action ${action} is not supported by cdk-offline`, namespace);
  }
  const identity = `<Arn>arn:aws:iam::${accountId}:user/local</Arn><UserId>local</UserId><Account>${accountId}</Account>`;
  return xmlAnswer(
    200,
    `<GetCallerIdentityResponse xmlns="${namespace}"><GetCallerIdentityResult>${identity}</GetCallerIdentityResult><ResponseMetadata><RequestId>${crypto.randomUUID()}</RequestId></ResponseMetadata></GetCallerIdentityResponse>`,
  );
}
