/** The variables that Lambda sets for every function, aimed at this endpoint of DynamoDB. */
export function awsVariables(endpoint: string): Record<string, string> {
  return {
    AWS_REGION: 'eu-central-1',
    AWS_ACCESS_KEY_ID: 'local',
    AWS_SECRET_ACCESS_KEY: 'local',
    AWS_SESSION_TOKEN: 'local',
    AWS_ENDPOINT_URL_DYNAMODB: endpoint,
  };
}
