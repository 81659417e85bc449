import { once } from 'node:events';

import { WebSocket } from 'ws';

import type { Predecessor, SocketJob, SocketOutcome } from './job.ts';

const COMPLETED = '{"type":"response.completed"';
const DELTA = '{"type":"response.output_text.delta"';

/** Sockets that earlier jobs have left open, by their address. */
const open = new Map<string, Connection[]>();

/** Makes turns on as many sockets as are asked for, one after the other. Rejects when a turn does not complete. */
export async function runSockets(job: SocketJob): Promise<SocketOutcome> {
  const connections = await connect(job);
  const responseIds: string[] = [];
  const start = performance.now();
  for (const connection of connections) {
    for (let turn = 0; turn < job.turnsPerSocket; turn++) responseIds.push(await connection.turn(job));
  }
  return { responseIds, seconds: (performance.now() - start) / 1000 };
}

async function connect({ url, sockets }: SocketJob): Promise<readonly Connection[]> {
  const connections = open.get(url) ?? [];
  open.set(url, connections);
  while (connections.length < sockets) connections.push(await Connection.open(url));
  return connections.slice(0, sockets);
}

/** A socket with the turn it made last. */
class Connection {
  private readonly socket: WebSocket;
  private latest: string | undefined;
  private pending = Promise.withResolvers<string>();

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on('message', (data: Buffer) => this.receive(data.toString()));
    socket.once('close', (code: number) => this.pending.reject(new Error(`the socket was closed with ${code}`)));
  }

  static async open(url: string): Promise<Connection> {
    const socket = new WebSocket(url, { perMessageDeflate: false });
    await once(socket, 'open');
    return new Connection(socket);
  }

  /** Makes a turn; gives the id of its response. */
  async turn({ body, predecessor }: SocketJob): Promise<string> {
    this.pending = Promise.withResolvers();
    const previous = this.idOf(predecessor);
    const members = previous === undefined ? '' : `"previous_response_id":"${previous}",`;
    this.socket.send(`{"type":"response.create",${members}${body.slice(1)}`);
    this.latest = await this.pending.promise;
    return this.latest;
  }

  private idOf(predecessor: Predecessor): string | undefined {
    if (predecessor === 'none') return undefined;
    return predecessor === 'the one before' ? this.latest : predecessor.responseId;
  }

  /** Reads only what it must: the generator must be faster than the server. */
  private receive(text: string): void {
    if (text.startsWith(DELTA)) return;
    if (text.startsWith('{"type":"response.failed"') || text.startsWith('{"type":"error"')) {
      this.pending.reject(new Error(`a turn ended with ${text}`));
    } else if (text.startsWith(COMPLETED)) {
      const { response } = JSON.parse(text) as { readonly response: { readonly id: string } };
      this.pending.resolve(response.id);
    }
  }
}
