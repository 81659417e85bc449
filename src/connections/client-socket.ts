import { WebSocket } from 'ws';

/** Called when a socket begins to close, perhaps more than once. */
export interface ClientSocketHost {
  /** The close frame comes next: only now can something still be written before it. */
  beforeClose(): void;
  /** The close frame is on its way, and nothing can be sent any more. */
  leave(): void;
}

/** A socket that says when it begins to close, whoever began: until it is closed, a client may keep the line open. */
export class ClientSocket extends WebSocket {
  /** No listeners of events, of which each takes memory on every socket. */
  host: ClientSocketHost | null = null;

  override close(code?: number, reason?: string | Buffer): void {
    this.host?.beforeClose();
    super.close(code, reason);
    this.host?.leave();
  }
}
