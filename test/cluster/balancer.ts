import { once } from 'node:events';
import { createServer, type IncomingMessage, request as openRequest, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { pipeline } from 'node:stream';

import { LocalServer } from '../support/local-server.js';
import { tieSockets } from '../support/tcp-proxy.js';

/** Picks the port that a request goes to. It is only asked while there is one. */
export type ChoosePort = (ports: readonly number[]) => number;

const BAD_GATEWAY = 'HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\nconnection: close\r\n\r\n';

/**
 * A load balancer in front of several processes on this machine. Each request and each WebSocket goes where the chooser
 * says, in turn by default, with its headers unchanged and nothing held back.
 *
 * Where the connection is refused, the next one is asked; nothing was sent yet. What breaks later is the client's to see:
 * as 502 before the head of an answer, as a broken connection after it.
 */
export class Balancer extends LocalServer {
  private constructor(
    private ports: readonly number[],
    private readonly choose: ChoosePort,
  ) {
    // Only a client or a backend closes a connection, not the time between two requests.
    const server = createServer({ keepAliveTimeout: 0 });
    super(server);
    server.on('request', (request, response) => void this.answer(request, response));
    server.on('upgrade', (request, client, head) => void this.upgrade(request, client as Socket, head));
  }

  /** Opens a balancer in front of these ports. */
  static open(ports: readonly number[], { choose = inTurn() }: { choose?: ChoosePort } = {}): Promise<Balancer> {
    return new Balancer(ports, choose).listen();
  }

  /** Sends nothing new to a port. What it is answering goes on. */
  remove(port: number): void {
    this.ports = this.ports.filter((other) => other !== port);
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const socket = await this.reach();
    if (socket === undefined) refuse(response);
    else if (response.destroyed) socket.destroy();
    else forward(request, response, socket);
  }

  private async upgrade(request: IncomingMessage, client: Socket, head: Buffer): Promise<void> {
    client.on('error', () => undefined);
    const socket = await this.reach();
    if (socket === undefined) return void client.end(BAD_GATEWAY);
    if (client.destroyed) return void socket.destroy();
    tieSockets(client, socket);
    socket.write(headOf(request));
    socket.write(head);
    client.pipe(socket).pipe(client);
  }

  /** A connection to the port of the chooser's choice, or of its next choice where one is refused. */
  private async reach(): Promise<Socket | undefined> {
    let left = this.ports;
    while (left.length > 0) {
      const port = this.choose(left);
      const socket = connect(port, '127.0.0.1');
      try {
        await once(socket, 'connect');
        return socket;
      } catch {
        left = left.filter((other) => other !== port);
      }
    }
    return undefined;
  }
}

function inTurn(): ChoosePort {
  let turn = 0;
  return (ports) => ports[turn++ % ports.length] as number;
}

function forward(request: IncomingMessage, response: ServerResponse, socket: Socket): void {
  const { method, url: path, rawHeaders: headers } = request;
  const onward = openRequest({ method, path, headers, createConnection: () => socket });
  onward.once('response', (answer) => {
    response.sendDate = false;
    response.writeHead(answer.statusCode ?? 502, answer.statusMessage, answer.rawHeaders).flushHeaders();
    // A broken answer breaks the client's connection, and the other way round.
    pipeline(answer, response, () => undefined);
  });
  onward.on('error', () => {
    if (!response.headersSent) refuse(response);
  });
  response.once('close', () => socket.destroy());
  request.pipe(onward);
}

function refuse(response: ServerResponse): void {
  response.writeHead(502, { 'content-type': 'application/json', connection: 'close' }).end('{}');
}

function headOf({ method, url, rawHeaders }: IncomingMessage): string {
  const lines = rawHeaders.map((text, index) => (index % 2 === 0 ? `${text}: ` : `${text}\r\n`));
  return `${method ?? 'GET'} ${url ?? '/'} HTTP/1.1\r\n${lines.join('')}\r\n`;
}
