import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

import type { WebSocket } from 'ws';

import { AGENT_MODEL } from '../agent-traffic.ts';
import { readModel } from '../upstream-traffic.ts';
import { type AgentContext, toAgentCall } from './agent-call.ts';
import { ResponseEvents } from './response-events.ts';
import { type FrameWriter, sendPaced } from './send-paced.ts';
import { SSE_DONE, toSseHeaders } from './sse-format.ts';

/** The members of a request that the upstream reads. */
interface Request {
  readonly model: string;
  readonly input: string | readonly unknown[];
  readonly previous_response_id?: string | null;
}

/** Answers a request over HTTP with the traffic that its model name encodes, or as the model of an agent. */
export function answerOverSse(body: string, reply: ServerResponse): void {
  const request = JSON.parse(body) as Request;
  reply.writeHead(200, toSseHeaders());
  answer(
    request,
    { items: request.input.length, receivedBytes: Buffer.byteLength(body) },
    {
      write: (events) => reply.write(toSse(events)),
      end: (events) => reply.end(toSse(events) + SSE_DONE),
    },
  );
}

/** Answers requests on a socket in the same way. Of the context it knows only the length, for the latest response. */
export function answerOnSocket(socket: WebSocket, stream: Socket): void {
  let latest = { id: '', items: 0 };
  const write = (events: readonly string[]): void => {
    stream.cork();
    for (const event of events) socket.send(event);
    stream.uncork();
  };
  socket.on('message', (data: Buffer) => {
    const request = JSON.parse(data.toString()) as Request;
    const { previous_response_id: previous, input } = request;
    if (typeof previous === 'string' && previous !== latest.id)
      throw new Error(`there is no response ${previous} here`);
    const items = input.length + (typeof previous === 'string' ? latest.items : 0);
    const id = answer(request, { items, receivedBytes: data.length }, { write, end: write });
    // The next request has one item more: the call.
    latest = { id, items: items + 1 };
  });
}

/** Returns the id of the response of an agent's model; empty for text, which nobody continues. */
function answer(request: Request, context: AgentContext, writer: FrameWriter): string {
  const { model } = request;
  if (model === AGENT_MODEL) {
    const { responseId, events } = toAgentCall(model, context);
    writer.end(events);
    return responseId;
  }
  sendPaced(readModel(model), new ResponseEvents(model), writer);
  return '';
}

function toSse(events: readonly string[]): string {
  let frames = '';
  for (const event of events) frames += `event: ${event.slice(9, event.indexOf('"', 9))}\ndata: ${event}\n\n`;
  return frames;
}
