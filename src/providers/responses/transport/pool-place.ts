import type { Timer } from '../../../time/index.js';
import { broken } from './broken.js';
import { type Handshake, openWebSocket } from './open-web-socket.js';
import type { SocketPoolOptions, WantedSocket } from './pool-options.js';
import { type SocketOwner, UpstreamSocket } from './upstream-socket.js';

/** Who keeps the places of a pool. */
export interface PlaceOwner extends SocketOwner {
  /** The socket was idle too long, or is too old. */
  onExpired(): void;
}

/** One of the sockets of a SocketPool, from its handshake to its end. */
export class PoolPlace {
  readonly conversation: string;
  /** Whether the socket is closed after its turn. */
  isLast = false;
  private readonly headers: Readonly<Record<string, string>>;
  private readonly turnHeaders: Readonly<Record<string, string>>;
  private handshake: Handshake<UpstreamSocket> | null = null;
  private opened: UpstreamSocket | null = null;
  private diesAt = 0;
  private restTimer: Timer | null = null;

  constructor(
    wanted: WantedSocket,
    private readonly options: SocketPoolOptions,
    private readonly owner: PlaceOwner,
  ) {
    this.conversation = wanted.conversation;
    this.headers = wanted.headers;
    this.turnHeaders = wanted.turnHeaders ?? {};
  }

  /** The socket. Throws if it is not open yet. */
  get socket(): UpstreamSocket {
    if (this.opened === null) throw new Error('the socket is not open yet');
    return this.opened;
  }

  /** Opens the socket. Rejects as SocketPool.take does. */
  async open(signal: AbortSignal): Promise<UpstreamSocket> {
    const { clock, address, websockets } = this.options;
    const { idleMs } = address.timeouts;
    this.diesAt = clock.now() + websockets.maxAgeMs;
    const { owner } = this;
    const headers = { ...this.turnHeaders, ...this.headers };
    const handshake = openWebSocket(
      { address, websockets, clock, headers },
      (socket, answer) => (this.opened = new UpstreamSocket(socket, answer, { owner, clock, idleMs })),
    );
    this.handshake = handshake;
    const onAbort = (): void => handshake.cancel(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      return await handshake.opened;
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  /** Whether the socket can take a turn that wants these headers. */
  isUsable(now: number, headers: Readonly<Record<string, string>>): boolean {
    return this.opened?.isOpen === true && now < this.diesAt && isSame(headers, this.headers);
  }

  /** The socket, for a turn. */
  use(): UpstreamSocket {
    this.endRest();
    this.socket.hold();
    return this.socket;
  }

  /** The socket has no turn now. */
  rest(): void {
    const { clock, websockets } = this.options;
    const leftMs = Math.max(0, this.diesAt - clock.now());
    this.restTimer = clock.schedule(Math.min(websockets.idleMs, leftMs), () => this.owner.onExpired());
  }

  endRest(): void {
    this.restTimer?.cancel();
  }

  /** Closes the socket, or its handshake. Resolves when it is closed. */
  async close(): Promise<void> {
    if (this.opened === null) this.handshake?.cancel(broken('the connection was closed'));
    else await this.opened.close();
  }
}

function isSame(one: Readonly<Record<string, string>>, other: Readonly<Record<string, string>>): boolean {
  const names = Object.keys(one);
  return names.length === Object.keys(other).length && names.every((name) => one[name] === other[name]);
}
