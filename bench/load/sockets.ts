import type { WebSocket } from 'ws';

import type { Predecessor, SocketJob, SocketOutcome } from './job.ts';
import { COMPLETED, openSocket } from './open-socket.ts';

const DELTA = '{"type":"response.output_text.delta"';

/** Sockets left open by earlier jobs, by address. */
const open = new Map<string, Connection[]>();

/** Makes turns on the requested number of sockets. Rejects if a turn does not complete. */
export async function runSockets(job: SocketJob): Promise<SocketOutcome> {
  const connections = await connect(job);
  const turns: Turn[] = [];
  const start = performance.now();
  const converse = async (connection: Connection): Promise<void> => {
    for (let turn = 0; turn < job.turnsPerSocket; turn++) turns.push(await connection.turn(job));
  };
  if (job.isConcurrent === true) await Promise.all(connections.map(converse));
  else for (const connection of connections) await converse(connection);
  const seconds = (performance.now() - start) / 1000;
  const sum = (member: 'events' | 'bytes'): number => turns.reduce((total, turn) => total + turn[member], 0);
  const responseIds = turns.map(({ responseId }) => responseId);
  return { turns: turns.length, events: sum('events'), bytes: sum('bytes'), seconds, responseIds };
}

/** The outcome of one turn. */
interface Turn {
  readonly responseId: string;
  readonly events: number;
  readonly bytes: number;
}

async function connect({ url, sockets }: SocketJob): Promise<readonly Connection[]> {
  const connections = open.get(url) ?? [];
  open.set(url, connections);
  while (connections.length < sockets) connections.push(await Connection.open(url));
  return connections.slice(0, sockets);
}

/** A socket with its last turn. */
class Connection {
  private readonly socket: WebSocket;
  private latest: string | undefined;
  private pending = Promise.withResolvers<string>();
  private events = 0;
  private bytes = 0;

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on('message', (data: Buffer) => this.receive(data));
    socket.once('close', (code: number) => this.pending.reject(new Error(`the socket was closed with ${code}`)));
  }

  static async open(url: string): Promise<Connection> {
    return new Connection(await openSocket(url));
  }

  /** Makes a turn. */
  async turn({ body, predecessor }: SocketJob): Promise<Turn> {
    this.pending = Promise.withResolvers();
    this.events = 0;
    this.bytes = 0;
    const previous = this.idOf(predecessor);
    const members = previous === undefined ? '' : `"previous_response_id":"${previous}",`;
    this.socket.send(`{"type":"response.create",${members}${body.slice(1)}`);
    const responseId = await this.pending.promise;
    this.latest = responseId;
    return { responseId, events: this.events, bytes: this.bytes };
  }

  private idOf(predecessor: Predecessor): string | undefined {
    if (predecessor === 'none') return undefined;
    return predecessor === 'the one before' ? this.latest : predecessor.responseId;
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
      this.pending.resolve(response.id);
    }
  }
}
