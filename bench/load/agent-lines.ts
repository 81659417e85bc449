import { once } from 'node:events';
import { Agent, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';

import type { WebSocket } from 'ws';

import type { AgentJob } from './agent-job.ts';
import { COMPLETED, openSocket } from './open-socket.ts';
import { post } from './post.ts';

/** The answer to a request. */
interface LineAnswer {
  /** The event `response.completed`, JSON. */
  readonly text: string;
  /** Length of the request. */
  readonly sentBytes: number;
}

/** A persistent connection of an agent to the server. */
export interface AgentLine extends AsyncDisposable {
  /** Sends a request, given as JSON without its closing brace. Rejects if the response does not complete. */
  ask(request: string): Promise<LineAnswer>;
}

/** Opens the connection of an agent. */
export function openLine({ origin, transport }: AgentJob): Promise<AgentLine> | AgentLine {
  const url = `${origin}/v1/responses`;
  return transport === 'socket' ? openSocketLine(url.replace('http', 'ws')) : openHttpLine(url, transport === 'http');
}

function openHttpLine(url: string, store: boolean): AgentLine {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return {
    async ask(request) {
      const body = `${request},"store":${store},"stream":true,"stream_options":{"include_obfuscation":false}}`;
      return { text: await readCompleted(await post(url, body, agent)), sentBytes: Buffer.byteLength(body) };
    },
    async [Symbol.asyncDispose]() {
      agent.destroy();
    },
  };
}

async function readCompleted(answer: IncomingMessage): Promise<string> {
  const frames = await text(answer);
  const start = frames.lastIndexOf(COMPLETED);
  if (start === -1) throw new Error(`status ${answer.statusCode ?? 0}, the answer was: ${frames}`);
  return frames.slice(start, frames.indexOf('\n', start));
}

async function openSocketLine(url: string): Promise<AgentLine> {
  const socket = await openSocket(url);
  return {
    async ask(request) {
      const message = `${request},"store":false,"type":"response.create"}`;
      const answer = receiveCompleted(socket);
      socket.send(message);
      return { text: await answer, sentBytes: Buffer.byteLength(message) };
    },
    async [Symbol.asyncDispose]() {
      socket.close();
      await once(socket, 'close');
    },
  };
}

function receiveCompleted(socket: WebSocket): Promise<string> {
  return new Promise((resolve, reject) => {
    const end = (): void => {
      socket.off('message', receive).off('close', refuse);
    };
    const refuse = (reason: unknown): void => {
      end();
      reject(new Error(`a turn ended with ${String(reason)}`));
    };
    const receive = (data: Buffer): void => {
      const frame = data.toString();
      if (frame.startsWith('{"type":"response.failed"') || frame.startsWith('{"type":"error"')) refuse(frame);
      if (!frame.startsWith(COMPLETED)) return;
      end();
      resolve(frame);
    };
    socket.on('message', receive).on('close', refuse);
  });
}
