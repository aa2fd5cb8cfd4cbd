/** What the operators' tools of a service call in AWS, in memory: for tests of these tools. */
export { type ApiKeySnapshot, ApiKeyStore } from '../usage-plans/store.ts';
export { jsonAnswer, jsonError, type ManagementRequest } from './answers.ts';
export { answerApiGateway } from './api-gateway.ts';
export { answerCloudFormation, answerSts } from './query-services.ts';
export type { HttpResponse } from '../http/response.ts';
