import { checkEventOrder } from './event-order.js';

import { SocketClient } from './socket-client.js';
import { openStream, postJson } from './sse.js';
import { Refusal, type Transport, type WireResponse } from './transport.js';

/** `POST /responses`, answered with one JSON body. */
export const JSON_TRANSPORT: Transport = {
  name: 'json',
  async run(service, body) {
    const { status, body: answer } = await postJson(`${service.baseURL}/responses`, body);
    if (status !== 200) throw new Refusal(status, answer);
    return { response: answer as WireResponse };
  },
};

/** `POST /responses` with `stream: true`. */
export const SSE_TRANSPORT: Transport = {
  name: 'sse',
  async run(service, body) {
    const answer = await openStream(`${service.baseURL}/responses`, body);
    if (!answer.streams) throw new Refusal(answer.status, answer.body);
    const events = await Array.fromAsync(answer.events);
    checkEventOrder(events, { transport: 'sse' });
    return { events, response: events.at(-1)?.['response'] as WireResponse };
  },
};

/** `response.create` on a socket of its own. */
export const WS_TRANSPORT: Transport = {
  name: 'ws',
  async run(service, body) {
    await using client = await SocketClient.open(service);
    return await client.turn(body as { readonly stream_id?: string });
  },
};

/** Every transport a turn can take. What is true of one has to be true of all. */
export const TRANSPORTS: readonly Transport[] = [JSON_TRANSPORT, SSE_TRANSPORT, WS_TRANSPORT];
