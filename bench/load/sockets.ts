import { once } from 'node:events';

import { WebSocket } from 'ws';

import type { Outcome } from './http.ts';

/** The beginning of the event that completes a turn. */
export const COMPLETED = '{"type":"response.completed"';

const DELTA = '{"type":"response.output_text.delta"';

/** Turns on sockets, which stay open for later jobs. */
interface SocketJob {
  readonly url: string;
  /** The request without `previous_response_id`, JSON. */
  readonly body: string;
  /** What a turn continues: nothing, the previous turn on its socket, or the response with this id. */
  readonly predecessor?: 'the one before' | { readonly responseId: string };
  readonly sockets: number;
  /** With 0, sockets are only opened. */
  readonly turnsPerSocket: number;
  /** Whether sockets make turns concurrently rather than one socket after another. */
  readonly isConcurrent?: boolean;
}

/** Sockets left open by earlier jobs, by address. */
const open = new Map<string, Connection[]>();

/** Makes turns on so many sockets; resolves with the ids of the responses too, by socket. Rejects if a turn does not complete. */
export async function runSockets(job: SocketJob): Promise<Outcome & { readonly responseIds: readonly string[] }> {
  const { url, sockets, predecessor, body } = job;
  const connections = open.get(url) ?? [];
  open.set(url, connections);
  while (connections.length < sockets) connections.push(await Connection.open(url));
  const used = connections.slice(0, sockets);
  const before = used.map(({ events, bytes }) => ({ events, bytes }));
  const responseIds: string[] = [];
  const start = performance.now();
  const converse = async (connection: Connection): Promise<void> => {
    for (let turn = 0; turn < job.turnsPerSocket; turn++) {
      const previous = predecessor === 'the one before' ? connection.latest : predecessor?.responseId;
      const members = previous === undefined ? '' : `"previous_response_id":"${previous}",`;
      await connection.ask(`{"type":"response.create",${members}${body.slice(1)}`);
      responseIds.push(connection.latest ?? '');
    }
  };
  if (job.isConcurrent === true) await Promise.all(used.map(converse));
  else for (const connection of used) await converse(connection);
  const seconds = (performance.now() - start) / 1000;
  const sum = (member: 'events' | 'bytes'): number =>
    used.reduce((total, one, index) => total + one[member] - (before[index]?.[member] ?? 0), 0);
  return { turns: responseIds.length, events: sum('events'), bytes: sum('bytes'), seconds, responseIds };
}

/** A socket without compression or validation, because the generator must be faster than the servers. */
export class Connection implements AsyncDisposable {
  /** Messages received. */
  events = 0;
  /** Of those. */
  bytes = 0;
  /** The response of its last turn. */
  latest: string | undefined;
  readonly socket: WebSocket;
  private pending = Promise.withResolvers<string>();

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on('message', (data: Buffer) => this.receive(data));
    // Also where nobody waits for a turn: the figures of idle sockets would be invalid.
    socket.once('close', (code: number) => this.pending.reject(new Error(`the socket was closed with ${code}`)));
  }

  static async open(url: string): Promise<Connection> {
    const socket = new WebSocket(url, { perMessageDeflate: false, skipUTF8Validation: true });
    await once(socket, 'open');
    return new Connection(socket);
  }

  /** Makes a turn; resolves with the event that completes it, JSON. Rejects if it does not complete. */
  async ask(frame: string): Promise<string> {
    this.pending = Promise.withResolvers();
    this.socket.send(frame);
    return await this.pending.promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.pending.promise.catch(() => undefined);
    this.socket.close();
    await once(this.socket, 'close');
  }

  /** Reads only what is needed, because the generator must be faster than the server. */
  private receive(data: Buffer): void {
    this.events += 1;
    this.bytes += data.length;
    const text = data.toString();
    if (text.startsWith(DELTA)) return;
    if (text.startsWith('{"type":"response.failed"') || text.startsWith('{"type":"error"')) {
      this.pending.reject(new Error(`a turn ended with ${text}`));
    } else if (text.startsWith(COMPLETED)) {
      const { response } = JSON.parse(text) as { readonly response: { readonly id: string } };
      this.latest = response.id;
      this.pending.resolve(text);
    }
  }
}
