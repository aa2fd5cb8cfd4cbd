/**
 * Modules of the SDK that every bundle would contain although no request runs them, by their path in node_modules, and why
 * none does. The bundler replaces their exports by functions that throw. test/integration/bundles.test.ts runs the bundles
 * through every operation, failures and retries included.
 */
export const leftOutModules = {
  '@aws-sdk/credential-provider-node/dist-es/index.js': 'The client is given credentials.',
  '@smithy/core/dist-es/submodules/config/config-resolver/regionConfig/getInstanceMetadataRegion.js':
    'The client is given its Region.',
  '@smithy/core/dist-es/submodules/config/shared-ini-file-loader/loadSharedConfigFiles.js':
    'It reads configuration files. The client is given every setting.',
  '@smithy/core/dist-es/submodules/endpoints/middleware-endpoint/adaptors/getEndpointFromConfig.js':
    'It reads configuration files.',
  '@smithy/core/dist-es/submodules/checksum/sha256/Sha256Js.js': 'Node.js has SHA-256.',
  '@smithy/core/dist-es/submodules/event-streams/index.js': 'DynamoDB has no operation with an event stream.',
  '@smithy/core/dist-es/submodules/retry/util-retry/AdaptiveRetryStrategy.js':
    'The client is given its strategy.',
} as const satisfies Record<string, string>;
