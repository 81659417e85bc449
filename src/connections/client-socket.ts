import { WebSocket } from 'ws';

/** Events of a closing socket; each may occur more than once. */
export interface ClientSocketListener {
  /** The close frame is sent next: the last moment to write anything before it. */
  beforeClose(): void;
  /** The close frame was sent: nothing else can be sent. */
  afterClose(): void;
}

/**
 * A socket that reports when either side starts to close it: until it is closed, a client may keep the connection open.
 */
export class ClientSocket extends WebSocket {
  /** A single object instead of event listeners, each of which takes memory on every socket. */
  listener: ClientSocketListener | null = null;

  override close(code?: number, reason?: string | Buffer): void {
    this.listener?.beforeClose();
    super.close(code, reason);
    this.listener?.afterClose();
  }
}
