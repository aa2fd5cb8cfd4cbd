import { Tags } from 'aws-cdk-lib';
import { type Attribute, AttributeType, Billing, TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { Construct } from 'constructs';
import type { StageSettings } from '../configuration/settings.ts';
import { type TableName, tableNames } from '../../functions/tables.ts';
import { titleCase } from '../title-case.ts';
import { type KeyAttributes, tableDefinitions, timeToLiveAttribute } from './table-definitions.ts';

export interface TablesProps extends Pick<
  StageSettings,
  'removalPolicy' | 'deletionProtection' | 'pointInTimeRecovery' | 'warmThroughput'
> {
  /** The tags of the stack. CloudFormation gives them to no AWS::DynamoDB::GlobalTable, so each of its replicas names them. */
  readonly tags: Readonly<Record<string, string>>;
}

/** The tables, with on-demand capacity, encrypted at rest with keys that DynamoDB owns. */
export class Tables extends Construct {
  readonly byName: Readonly<Record<TableName, TableV2>>;

  constructor(scope: Construct, constructId: string, props: TablesProps) {
    super(scope, constructId);
    const made = tableNames.map((name) => [name, this.#table(name, props)]);
    this.byName = Object.fromEntries(made) as Record<TableName, TableV2>;
    for (const [key, value] of Object.entries(props.tags)) Tags.of(this).add(key, value);
  }

  #table(name: TableName, props: TablesProps): TableV2 {
    const { keys, indexes = {}, isTemporary } = tableDefinitions[name];
    const warmThroughput = props.warmThroughput?.[name];
    const warm = warmThroughput && { warmThroughput };
    // Never change the construct ID: it determines the logical ID, and a new logical ID is a new, empty table.
    return new TableV2(this, titleCase(name), {
      billing: Billing.onDemand(),
      removalPolicy: props.removalPolicy,
      deletionProtection: props.deletionProtection,
      ...(isTemporary
        ? { timeToLiveAttribute }
        : { pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: props.pointInTimeRecovery } }),
      ...keysOf(keys),
      ...warm,
      globalSecondaryIndexes: Object.entries(indexes).map(([indexName, ofIndex]) => ({
        indexName,
        ...keysOf(ofIndex),
        // Requests read no index of API keys.
        ...(name !== 'apiKeys' && warm),
      })),
    });
  }
}

function keysOf(keys: KeyAttributes): { readonly partitionKey: Attribute; readonly sortKey?: Attribute } {
  const [partitionKey, sortKey] = Object.entries(keys).map(([name, type]) => ({
    name,
    type: type === 'N' ? AttributeType.NUMBER : AttributeType.STRING,
  }));
  return { partitionKey: partitionKey!, ...(sortKey && { sortKey }) };
}
