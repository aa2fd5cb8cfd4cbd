import { connect } from 'node:net';
import { readAddress } from '../local/address-file.ts';

const defaultPort = 3000;

/** The address of the last local service if it still runs, otherwise of the default port. */
export async function localEndpoint(
  port?: number,
  last: string | undefined = readAddress(),
): Promise<string> {
  if (port === undefined && last !== undefined && (await isListening(new URL(last)))) return last;
  return `http://127.0.0.1:${port ?? defaultPort}`;
}

function isListening({ hostname, port }: URL): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    socket.on('error', () => resolve(false));
    socket.on('connect', () => {
      socket.destroy();
      resolve(true);
    });
  });
}
