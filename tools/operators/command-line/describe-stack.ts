import { type CloudFormationClient, DescribeStacksCommand, type Stack } from '@aws-sdk/client-cloudformation';

/** A stack of CloudFormation, `undefined` if it does not exist. */
export async function describeStack(client: CloudFormationClient, name: string): Promise<Stack | undefined> {
  try {
    const { Stacks: [stack] = [] } = await client.send(new DescribeStacksCommand({ StackName: name }));
    return stack;
  } catch (error) {
    // CloudFormation has no error type for a stack that does not exist.
    const { name: type, message } = error as Error;
    if (type === 'ValidationError' && message.includes('does not exist')) return undefined;
    throw error;
  }
}
