import { localCredentials } from '../template/aws.ts';
import type { DynamoDbCredentials } from './credentials.ts';
import { chooseDatabase, engines } from './engines.ts';
import { type LocalDynamoDb, type LocalDynamoDbOptions, startDynamoDb } from './start.ts';
import { createTables, type TableDefinition } from './tables.ts';

export interface DatabaseOptions extends LocalDynamoDbOptions {
  /** A running DynamoDB, called with `localCredentials` in place of one that is started. */
  readonly endpoint: string | undefined;
  /** For the database's temporary files. */
  readonly temporaryParent: string;
  readonly onProgress: (message: string) => void;
}

/** How a database is called. */
export interface DatabaseAccess {
  readonly endpoint: string;
  readonly credentials: DynamoDbCredentials;
}

/** The database of a service: a running one, or one that is started for the first table. */
export class Database {
  readonly #options: DatabaseOptions;
  #local: LocalDynamoDb | undefined;
  #access: DatabaseAccess | undefined;

  constructor(options: DatabaseOptions) {
    this.#options = options;
  }

  /** `undefined` as long as no table was needed. */
  get access(): DatabaseAccess | undefined {
    return this.#access;
  }

  async start(): Promise<DatabaseAccess> {
    this.#access ??= await this.#start();
    return this.#access;
  }

  /** Creates those that do not exist. */
  async createTables(tables: readonly TableDefinition[]): Promise<void> {
    if (tables.length === 0) return;
    const { endpoint, credentials } = await this.start();
    const created = await createTables(tables, endpoint, credentials);
    if (created > 0) this.#options.onProgress('Created the tables');
  }

  async stop(): Promise<void> {
    await this.#local?.stop();
  }

  async #start(): Promise<DatabaseAccess> {
    const { endpoint, onProgress } = this.#options;
    if (endpoint !== undefined) return { endpoint, credentials: localCredentials };
    const database = await chooseDatabase(this.#options.database);
    onProgress(`Starting ${engines[database].label}`);
    this.#local = await startDynamoDb({ ...this.#options, database }, this.#options.temporaryParent);
    return this.#local;
  }
}
