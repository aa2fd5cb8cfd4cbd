// Stands in for the framework that @mastra/dynamodb belongs to, with its 180 packages. The storage of threads and messages uses these.
const logger = { debug() {}, error() {} };
export class MemoryStorage {
  logger = logger;
}
export function ScoresStorage() {}
export function WorkflowsStorage() {}
export function MastraCompositeStore() {}
export class MastraError extends Error {
  constructor({ id }, cause) {
    super(`${id}: ${cause.message}`, { cause });
  }
}
export const ErrorCategory = {};
export const ErrorDomain = {};
export const createStorageErrorId = (...words) => words.join('_');
export const normalizePerPage = (perPage, fallback) => perPage || (perPage === false ? Infinity : fallback);
export const calculatePagination = (page, given, perPage) => ({
  offset: given === false ? 0 : page * perPage,
  perPage,
});
export const filterByDateRange = (messages) => messages;
export class MessageList {
  add(messages) {
    this.get = { all: { db: () => messages } };
    return this;
  }
}
export const SCORERS_SCHEMA = {};
export const saveScorePayloadSchema = {};
export const TABLE_THREADS = 'mastra_threads';
export const TABLE_MESSAGES = 'mastra_messages';
export const TABLE_RESOURCES = 'mastra_resources';
export const TABLE_WORKFLOW_SNAPSHOT = 'mastra_workflow_snapshot';
export const TABLE_SCORERS = 'mastra_scorers';
