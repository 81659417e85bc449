/** What one unit of work costs, as docs/scale.md says where it was measured. CPU in µs, memory and storage in bytes. */
interface Costs {
  /** CPU of a process for a streamed turn, without its deltas: admission, the context, the exchange with the upstream, the save. */
  readonly turn: number;
  /** CPU of a process for a delta that arrives alone. */
  readonly delta: number;
  /** CPU of the state's server for a turn. */
  readonly stateTurn: number;
  /** What the state's server writes to its log for a turn. */
  readonly written: number;
  /** What a turn leaves behind until it expires. */
  readonly stored: number;
  /** Connections of a process to the state's server. */
  readonly connections: number;
}

export type State = 'postgres' | 'redis';

/** A stored turn of 50 words that continues another one, as an agent makes it. */
export const COSTS: Readonly<Record<State, Costs>> = {
  postgres: { turn: 1360, delta: 30, stateTurn: 640, written: 5800, stored: 4900, connections: 11 },
  redis: { turn: 1280, delta: 30, stateTurn: 220, written: 0, stored: 5900, connections: 2 },
};

/** Memory of a process that does nothing, and of a socket that has had a turn, bytes. */
const PROCESS_BYTES = 135e6;
const SOCKET_BYTES = 29e3;
/** The share of a core that a process should be busy: above it, deltas wait for each other (`simulateWaits`). */
export const BUSY = 0.5;

/** What clients ask for. */
export interface Load {
  readonly sockets: number;
  /** Turns of a socket, per minute. */
  readonly turnsPerMinute: number;
  /** Deltas of an answer. */
  readonly deltas: number;
  /** How long a response is kept, days. */
  readonly days: number;
}

/** What a load needs. */
export interface Demand {
  readonly turnsPerSecond: number;
  readonly deltasPerSecond: number;
  /** Processes, each on a core of its own. */
  readonly processes: number;
  /** Memory of each process, bytes. */
  readonly processBytes: number;
  /** Cores of the state's server that are busy. */
  readonly stateCores: number;
  readonly stateConnections: number;
  /** Bytes per second that the state's server writes to its log. */
  readonly written: number;
  /** Bytes that are kept. */
  readonly stored: number;
}

/** Computes what a load needs of processes and of the server of the state. */
export function demandOf(load: Load, costs: Costs): Demand {
  const turnsPerSecond = (load.sockets * load.turnsPerMinute) / 60;
  const deltasPerSecond = turnsPerSecond * load.deltas;
  const busyCores = (turnsPerSecond * costs.turn + deltasPerSecond * costs.delta) / 1e6;
  const processes = Math.max(1, Math.ceil(busyCores / BUSY));
  return {
    turnsPerSecond,
    deltasPerSecond,
    processes,
    processBytes: PROCESS_BYTES + (load.sockets / processes) * SOCKET_BYTES,
    stateCores: (turnsPerSecond * costs.stateTurn) / 1e6,
    stateConnections: processes * costs.connections,
    written: turnsPerSecond * costs.written,
    stored: turnsPerSecond * 86_400 * load.days * costs.stored,
  };
}
