import { AttributeType, Billing, type TablePropsV2, TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { Construct } from 'constructs';
import type { StageSettings } from '../settings.ts';

export type TablesProps = Pick<StageSettings, 'removalPolicy' | 'deletionProtection' | 'pointInTimeRecovery'>;

/**
 * The tables, with on-demand capacity, encrypted at rest with keys that DynamoDB owns.
 *
 * Never change the construct IDs: they determine the logical IDs, and a new logical ID is a new, empty table.
 */
export class Tables extends Construct {
  readonly pets: TableV2;
  readonly apiKeys: TableV2;
  readonly rateLimits: TableV2;
  readonly idempotency: TableV2;

  constructor(scope: Construct, id: string, props: TablesProps) {
    super(scope, id);
    const common = {
      billing: Billing.onDemand(),
      removalPolicy: props.removalPolicy,
      deletionProtection: props.deletionProtection,
    } satisfies Partial<TablePropsV2>;
    const recovery = {
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: props.pointInTimeRecovery },
    };
    const keyId = { name: 'keyId', type: AttributeType.STRING };

    this.pets = new TableV2(this, 'Pets', {
      ...common,
      ...recovery,
      partitionKey: { name: 'id', type: AttributeType.NUMBER },
      globalSecondaryIndexes: [
        {
          indexName: 'byStatus',
          partitionKey: { name: 'status', type: AttributeType.STRING },
          sortKey: { name: 'id', type: AttributeType.NUMBER },
        },
      ],
    });

    // The indexes are for the key tool. The functions read by hash only.
    this.apiKeys = new TableV2(this, 'ApiKeys', {
      ...common,
      ...recovery,
      partitionKey: { name: 'keyHash', type: AttributeType.STRING },
      globalSecondaryIndexes: [
        { indexName: 'byKeyId', partitionKey: keyId },
        { indexName: 'byOwner', partitionKey: { name: 'owner', type: AttributeType.STRING }, sortKey: keyId },
        { indexName: 'byPlan', partitionKey: { name: 'plan', type: AttributeType.STRING }, sortKey: keyId },
      ],
    });

    // No point-in-time recovery: windows end within a day, and operators can suspend a key again.
    this.rateLimits = new TableV2(this, 'RateLimits', {
      ...common,
      partitionKey: { name: 'keyHash', type: AttributeType.STRING },
      timeToLiveAttribute: 'expiresAt',
    });

    // No point-in-time recovery: a record is needed for one day only.
    this.idempotency = new TableV2(this, 'Idempotency', {
      ...common,
      partitionKey: { name: 'id', type: AttributeType.STRING },
      timeToLiveAttribute: 'expiresAt',
    });
  }
}
