import { type Api, ApiFailure, type StreamEvent } from './api.ts';

type Listener = (event: StreamEvent | undefined) => void;

/** One WebSocket for the lanes of the page, opened with the first turn and again after it was closed. */
export class LaneSocket {
  private opened: Promise<WebSocket> | undefined;
  private readonly lanes = new Map<string, Listener>();

  constructor(private readonly api: Api) {}

  /** Runs a turn on a lane, and gives its events and those of the turns that steers make of it. Rejects with ApiFailure. */
  async *run(lane: string, request: object): AsyncGenerator<StreamEvent> {
    const socket = await this.open();
    const received: (StreamEvent | undefined)[] = [];
    let wake = (): void => undefined;
    this.lanes.set(lane, (event) => {
      received.push(event);
      wake();
    });
    socket.send(JSON.stringify({ type: 'response.create', stream_id: lane, ...request }));
    try {
      for (;;) {
        while (received.length === 0) await new Promise<void>((resolve) => (wake = resolve));
        const event = received.shift();
        if (event === undefined) throw new ApiFailure(0, 'The socket was closed.');
        if (event.type === 'error') throw new ApiFailure(event['status'] ?? 0, event['error']?.message ?? 'error');
        yield event;
        if (endsTurn(event)) return;
      }
    } finally {
      this.lanes.delete(lane);
    }
  }

  /** Sends a frame about a running turn, such as `response.steer`. */
  async send(frame: object): Promise<void> {
    (await this.open()).send(JSON.stringify(frame));
  }

  /** Closes the socket, if it is open. */
  close(): void {
    void this.opened?.then((socket) => socket.close()).catch(() => undefined);
  }

  private open(): Promise<WebSocket> {
    this.opened ??= this.connect().catch((error: unknown) => {
      this.opened = undefined;
      throw error;
    });
    return this.opened;
  }

  /** Pages cannot send headers with a socket: it is opened with a token that the key is good for. */
  private async connect(): Promise<WebSocket> {
    const token = await this.api.json('POST', 'socket_tokens', { origin: location.origin });
    const url = `${this.api.base.replace(/^http/, 'ws')}/responses`;
    const socket = new WebSocket(url, ['antiphon', `antiphon.token.${token.value}`]);
    socket.onmessage = ({ data }) => this.receive(JSON.parse(String(data)) as StreamEvent);
    await new Promise<void>((resolve, reject) => {
      socket.onopen = () => resolve();
      socket.onclose = () => reject(new ApiFailure(0, 'The socket could not be opened.'));
    });
    socket.onclose = () => {
      this.opened = undefined;
      for (const listener of this.lanes.values()) listener(undefined);
    };
    return socket;
  }

  /** What names no lane, such as the answer to a steer, is for whoever asked. */
  private receive(event: StreamEvent): void {
    const { stream_id: lane } = event;
    if (lane !== undefined) this.lanes.get(lane)?.(event);
    else if (event.type !== 'error' || this.lanes.size === 1)
      for (const listener of this.lanes.values()) listener(event);
  }
}

/** A steered response goes on as another. */
function endsTurn({ type, response }: StreamEvent): boolean {
  if (!/^response\.(?:completed|failed|incomplete|cancelled)$/.test(type)) return false;
  return response?.incomplete_details?.reason !== 'steered';
}
