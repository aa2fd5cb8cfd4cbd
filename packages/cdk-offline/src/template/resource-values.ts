import { createHash } from 'node:crypto';
import { accountId, arn, partition, region } from './aws.ts';

/**
 * The values of `Ref` and `Fn::GetAtt` by type of resource, where they depend only on the resource's name.
 *
 * https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-template-resource-type-ref.html
 */
export interface ResourceValues {
  readonly ref: string;
  readonly attributes: Readonly<Record<string, string>>;
}

interface Kind {
  /** The property that names the resource. Without one the name is made of the stack's name and the logical ID. */
  readonly nameProperty?: string;
  readonly values: (name: string) => ResourceValues;
}

/** `Ref` is the name. */
function named(nameProperty: string, attributes: (name: string) => Readonly<Record<string, string>>): Kind {
  return { nameProperty, values: (name) => ({ ref: name, attributes: attributes(name) }) };
}

/** `Ref` is the ARN, as an attribute of the given name may be. */
function byArn(
  nameProperty: string,
  arnOf: (name: string) => string,
  attributes: (name: string, own: string) => Readonly<Record<string, string>>,
): Kind {
  const values = (name: string) => ({ ref: arnOf(name), attributes: attributes(name, arnOf(name)) });
  return { nameProperty, values };
}

const global = (service: string, resource: string) => `arn:${partition}:${service}::${resource}`;

const table = named('TableName', (name) => ({
  Arn: arn('dynamodb', `table/${name}`),
  StreamArn: arn('dynamodb', `table/${name}/stream/2030-01-01T00:00:00.000`),
  TableId: stableUuid(name),
}));

const kinds: Readonly<Record<string, Kind>> = {
  'AWS::DynamoDB::Table': table,
  'AWS::DynamoDB::GlobalTable': table,
  'AWS::Logs::LogGroup': named('LogGroupName', (name) => ({ Arn: arn('logs', `log-group:${name}:*`) })),
  'AWS::SNS::Topic': byArn(
    'TopicName',
    (name) => arn('sns', name),
    (TopicName, TopicArn) => ({ TopicName, TopicArn }),
  ),
  'AWS::SQS::Queue': {
    nameProperty: 'QueueName',
    values: (QueueName) => {
      const QueueUrl = `https://sqs.${region}.amazonaws.com/${accountId}/${QueueName}`;
      return { ref: QueueUrl, attributes: { Arn: arn('sqs', QueueName), QueueName, QueueUrl } };
    },
  },
  'AWS::S3::Bucket': {
    nameProperty: 'BucketName',
    values: (name) => {
      const ref = name.toLowerCase();
      return {
        ref,
        attributes: {
          Arn: global('s3', `:${ref}`),
          DomainName: `${ref}.s3.amazonaws.com`,
          RegionalDomainName: `${ref}.s3.${region}.amazonaws.com`,
          WebsiteURL: `http://${ref}.s3-website-${region}.amazonaws.com`,
        },
      };
    },
  },
  'AWS::SecretsManager::Secret': byArn(
    'Name',
    (name) => arn('secretsmanager', `secret:${name}-${stableId(name).slice(0, 6)}`),
    (_, Id) => ({ Id }),
  ),
  'AWS::SSM::Parameter': named('Name', () => ({})),
  'AWS::IAM::Role': named('RoleName', (name) => ({
    Arn: `arn:${partition}:iam::${accountId}:role/${name}`,
  })),
  'AWS::Events::EventBus': named('Name', (Name) => ({ Name, Arn: arn('events', `event-bus/${Name}`) })),
  'AWS::StepFunctions::StateMachine': byArn(
    'StateMachineName',
    (name) => arn('states', `stateMachine:${name}`),
    (Name, Arn) => ({ Name, Arn }),
  ),
  'AWS::Kinesis::Stream': named('Name', (name) => ({ Arn: arn('kinesis', `stream/${name}`) })),
  'AWS::KMS::Key': {
    values: (name) => {
      const KeyId = stableUuid(name);
      return { ref: KeyId, attributes: { KeyId, Arn: arn('kms', `key/${KeyId}`) } };
    },
  },
  'AWS::Cognito::UserPool': {
    values: (name) => {
      const UserPoolId = `${region}_${stableId(name).slice(0, 9)}`;
      const ProviderName = `cognito-idp.${region}.amazonaws.com/${UserPoolId}`;
      const Arn = arn('cognito-idp', `userpool/${UserPoolId}`);
      return {
        ref: UserPoolId,
        attributes: { UserPoolId, Arn, ProviderName, ProviderURL: `https://${ProviderName}` },
      };
    },
  },
  'AWS::Cognito::UserPoolClient': {
    values: (name) => ({ ref: stableId(name), attributes: { ClientId: stableId(name) } }),
  },
};

/**
 * @param ownName the value of one of the resource's properties
 * @param defaultName the name of a resource without one of its own
 * @returns `undefined` when the values of this type are not known
 */
export function resourceValues(
  type: string,
  ownName: (property: string) => string | undefined,
  defaultName: string,
): ResourceValues | undefined {
  const kind = Object.hasOwn(kinds, type) ? kinds[type] : undefined;
  const name = kind?.nameProperty === undefined ? undefined : ownName(kind.nameProperty);
  return kind?.values(name ?? defaultName);
}

/** Ten letters and digits, as in API Gateway's IDs. */
export function stableId(seed: string): string {
  return BigInt(`0x${digestOf(seed)}`)
    .toString(36)
    .slice(-10);
}

function stableUuid(seed: string): string {
  return digestOf(seed).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5');
}

function digestOf(seed: string): string {
  return createHash('sha256').update(seed).digest('hex');
}
