import { createServer, type ServerResponse } from 'node:http';
import { onTestFinished } from 'vitest';
import { z } from 'zod';

/** A server that answers nothing until it is opened: functions that call it run for as long as a test needs. */
export class Gate {
  readonly url: string;
  readonly #held: Set<ServerResponse>;

  private constructor(url: string, held: Set<ServerResponse>) {
    this.url = url;
    this.#held = held;
  }

  static async start(): Promise<Gate> {
    const held = new Set<ServerResponse>();
    const server = createServer((_, response) => void held.add(response));
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    onTestFinished(() => {
      server.close();
      server.closeAllConnections();
    });
    const { port } = z.object({ port: z.number() }).parse(server.address());
    return new Gate(`http://127.0.0.1:${port}`, held);
  }

  /** Requests that wait. */
  get waiting(): number {
    return this.#held.size;
  }

  /** Answers the requests that wait. */
  open(): void {
    for (const response of this.#held) response.end();
    this.#held.clear();
  }
}
