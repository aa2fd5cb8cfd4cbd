/**
 * A process of its own that stands in front of DynamoDB Local as far away as DynamoDB is from a function: each answer
 * waits a while. It is forked with the endpoint and the wait in milliseconds, and tells its own port.
 */
import { Agent, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

const [endpoint = '', wait = ''] = process.argv.slice(2);
const agent = new Agent({ keepAlive: true });

const server = createServer((incoming, outgoing) => {
  const { method, headers } = incoming;
  const onward = request(endpoint, { method, headers, agent }, (answer) => {
    setTimeout(() => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    }, Number(wait));
  });
  onward.on('error', (error) => outgoing.destroy(error));
  incoming.pipe(onward);
});
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
process.once('disconnect', () => process.exit());
