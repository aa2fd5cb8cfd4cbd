/**
 * Modules of the SDK that every bundle would contain although no request runs them, by their path in node_modules, and why
 * none does. The bundler replaces their exports by functions that throw. test/integration/bundles.test.ts runs the bundles
 * through every operation, failures and retries included.
 */
export const leftOutModules = {
  '@aws-sdk/client-dynamodb/dist-es/DynamoDBClient.js':
    'functions/dynamodb/assembled-client.ts replaces it. The document client imports it for old versions.',
  '@smithy/core/dist-es/submodules/endpoints/middleware-endpoint/adaptors/getEndpointFromConfig.js':
    'It reads configuration files. The assembled client has its endpoint.',
  '@smithy/core/dist-es/submodules/event-streams/index.js': 'DynamoDB has no operation with an event stream.',
} as const satisfies Record<string, string>;
