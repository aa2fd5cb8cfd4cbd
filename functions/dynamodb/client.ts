import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { StrictProtocol } from './protocol.ts';
import { BriefRetryStrategy, maxAttempts } from './retry-strategy.ts';

/** `requestHandler`: shared by clients, so that they share its connections. */
export type ClientSettings = Required<
  Pick<DynamoDBClientConfig, 'region' | 'credentials' | 'requestHandler'>
> & {
  /** Default: the Region's endpoint. */
  readonly endpoint?: string | undefined;
  /** How often a throttled call is repeated. */
  readonly throttlingRetries: number;
};

/** A client that looks for nothing in configuration files, because a function has none: each of their settings is given. */
export function newClient({ endpoint, throttlingRetries, ...settings }: ClientSettings): DynamoDBClient {
  return new DynamoDBClient({
    ...settings,
    ...(endpoint !== undefined && { endpoint }),
    protocol: StrictProtocol,
    retryStrategy: new BriefRetryStrategy(throttlingRetries),
    maxAttempts,
    accountIdEndpointMode: 'disabled',
    authSchemePreference: [],
    defaultsMode: 'standard',
    disableClockSkewCorrection: false,
    endpointDiscoveryEnabled: false,
    ignoreConfiguredEndpointUrls: true,
    retryMode: 'standard',
    useDualstackEndpoint: false,
    useFipsEndpoint: false,
    userAgentAppId: '',
  });
}
