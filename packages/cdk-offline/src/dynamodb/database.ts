import { type DynamoDbLocal, type DynamoDbLocalOptions, startDynamoDb } from './local.ts';
import { createTables, type TableDefinition } from './tables.ts';

export interface DatabaseOptions extends DynamoDbLocalOptions {
  /** A running DynamoDB, used in place of DynamoDB Local. */
  readonly endpoint: string | undefined;
  readonly onProgress: (message: string) => void;
}

/** The database of a service: a running one, or DynamoDB Local, which is started for the first table. */
export class Database {
  readonly #options: DatabaseOptions;
  #local: DynamoDbLocal | undefined;
  #endpoint: string | undefined;

  constructor(options: DatabaseOptions) {
    this.#options = options;
  }

  /** `undefined` as long as no table was needed. */
  get endpoint(): string | undefined {
    return this.#endpoint;
  }

  /** @returns the endpoint */
  async start(): Promise<string> {
    const { endpoint, onProgress } = this.#options;
    if (endpoint !== undefined) this.#endpoint = endpoint;
    if (this.#endpoint !== undefined) return this.#endpoint;
    onProgress('Starting DynamoDB Local');
    this.#local = await startDynamoDb(this.#options);
    this.#endpoint = this.#local.endpoint;
    return this.#endpoint;
  }

  /** Creates those that do not exist. */
  async createTables(tables: readonly TableDefinition[]): Promise<void> {
    if (tables.length === 0) return;
    const endpoint = await this.start();
    this.#options.onProgress('Creating the tables');
    await createTables(tables, endpoint);
  }

  async stop(): Promise<void> {
    await this.#local?.stop();
  }
}
