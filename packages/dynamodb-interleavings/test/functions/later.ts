// This stands for a tool that loads what it needs when it needs it.
export async function load(file: string): Promise<unknown> {
  const { DynamoDBClient, ListTablesCommand } = await import('@aws-sdk/client-dynamodb');
  await new DynamoDBClient({ maxAttempts: 1 }).send(new ListTablesCommand()).catch(() => {});
  return import(file);
}
