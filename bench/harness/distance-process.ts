/**
 * A proxy for DynamoDB Local that delays each answer, to simulate the network. Forked with the endpoint and the delay in
 * milliseconds; sends its port to the parent.
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
