import { type Attribute, AttributeType, Billing, type TablePropsV2, TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { Construct } from 'constructs';
import type { StageSettings } from '../configuration/settings.ts';
import type { TableName } from '../../functions/tables.ts';

export type TablesProps = Pick<
  StageSettings,
  'removalPolicy' | 'deletionProtection' | 'pointInTimeRecovery' | 'warmThroughput'
>;

/**
 * The tables, with on-demand capacity, encrypted at rest with keys that DynamoDB owns.
 * Never change the construct IDs: they determine the logical IDs, and a new logical ID is a new, empty table.
 */
export class Tables extends Construct implements Readonly<Record<TableName, TableV2>> {
  readonly pets: TableV2;
  readonly apiKeys: TableV2;
  readonly rateLimits: TableV2;
  readonly idempotency: TableV2;

  constructor(scope: Construct, constructId: string, props: TablesProps) {
    super(scope, constructId);
    const common = {
      billing: Billing.onDemand(),
      removalPolicy: props.removalPolicy,
      deletionProtection: props.deletionProtection,
    } satisfies Partial<TablePropsV2>;
    const recoverable = {
      ...common,
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: props.pointInTimeRecovery },
    };
    const warm = (table: TableName) => {
      const warmThroughput = props.warmThroughput?.[table];
      return warmThroughput && { warmThroughput };
    };
    const text = (name: string): Attribute => ({ name, type: AttributeType.STRING });
    const id: Attribute = { name: 'id', type: AttributeType.NUMBER };

    this.pets = new TableV2(this, 'Pets', {
      ...recoverable,
      partitionKey: id,
      ...warm('pets'),
      globalSecondaryIndexes: [
        { indexName: 'byStatus', partitionKey: text('status'), sortKey: id, ...warm('pets') },
      ],
    });

    this.apiKeys = new TableV2(this, 'ApiKeys', {
      ...recoverable,
      ...warm('apiKeys'),
      partitionKey: text('keyHash'),
      // Only the key tool reads them.
      globalSecondaryIndexes: [
        { indexName: 'byKeyId', partitionKey: text('keyId') },
        { indexName: 'byOwner', partitionKey: text('owner'), sortKey: text('keyId') },
        { indexName: 'byPlan', partitionKey: text('plan'), sortKey: text('keyId') },
      ],
    });

    // No point-in-time recovery: windows and records end within a day, and operators can suspend a key again.
    const temporary = { ...common, timeToLiveAttribute: 'expiresAt' };
    this.rateLimits = new TableV2(this, 'RateLimits', {
      ...temporary,
      ...warm('rateLimits'),
      partitionKey: text('keyHash'),
    });
    this.idempotency = new TableV2(this, 'Idempotency', {
      ...temporary,
      ...warm('idempotency'),
      partitionKey: text('id'),
    });
  }
}
