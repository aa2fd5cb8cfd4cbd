import http from 'node:http';
import net from 'node:net';
import { processes } from './world.ts';

/**
 * Lets no request of a simulation reach the network until the function that is returned is called. Everybody else in this process can.
 * @param refused gets what the run is to end with, because clients of the SDK repeat a call that fails
 */
export function stayOffline(refused: (error: Error) => void): () => void {
  const refuse = (): void => {
    if (processes.getStore() === undefined) return;
    const error = new Error(
      'A request opens a network connection. Give each client of the AWS SDK the `client` of the environment, as in ' +
        '`new DynamoDBClient(client)`, and replace what calls other servers.',
    );
    refused(error);
    throw error;
  };
  const replaced = [
    [net.Socket.prototype, 'connect'],
    // A kept connection is used again without `connect`.
    [http.Agent.prototype, 'addRequest'],
  ] as const;
  const originals = replaced.map(([object, name]) => Object.getOwnPropertyDescriptor(object, name)!);
  for (const [index, [object, name]] of replaced.entries()) {
    const original = originals[index]!;
    const value = function (this: unknown, ...values: unknown[]): unknown {
      refuse();
      return Reflect.apply(original.value as () => unknown, this, values);
    };
    Object.defineProperty(object, name, { ...original, value });
  }
  return () => {
    for (const [index, [object, name]] of replaced.entries())
      Object.defineProperty(object, name, originals[index]!);
  };
}
