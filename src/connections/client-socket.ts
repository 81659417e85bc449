import { WebSocket } from 'ws';

/** A socket that says when it begins to close, whoever began: until it is closed, a client may keep the line open. */
export class ClientSocket extends WebSocket {
  /** Called when it begins to close, perhaps more than once. Not an event, of which each takes memory on every socket. */
  onClosing: (() => void) | null = null;

  override close(code?: number, reason?: string | Buffer): void {
    super.close(code, reason);
    this.onClosing?.();
  }
}
