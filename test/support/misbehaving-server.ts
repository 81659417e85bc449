import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A server in front of a service that changes what it answers. */
export interface MisbehavingServer extends AsyncDisposable {
  readonly baseURL: string;
}

/** Starts it. `change` gets the whole body of an answer. */
export async function misbehave(origin: string, change: (text: string) => string): Promise<MisbehavingServer> {
  const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const body = Buffer.concat(chunks);
      const { authorization = '', 'x-session-id': session } = request.headers;
      const headers = {
        authorization,
        'content-type': 'application/json',
        ...(session === undefined ? {} : { 'x-session-id': String(session) }),
      };
      const { method = 'GET', url = '/' } = request;
      const answer = await fetch(`${origin}${url}`, { method, headers, ...(body.length > 0 ? { body } : {}) });
      const type = answer.headers.get('content-type') ?? '';
      response.writeHead(answer.status, { 'content-type': type }).end(change(await answer.text()));
    })();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    baseURL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
