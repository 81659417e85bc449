import { gzipSync } from 'node:zlib';

import type { ChatAnswers } from './chat-answer.js';
import type { Quirks, TransportQuirks } from './quirks.js';
import { type Asked, toChunks, toCompletion } from './to-chunks.js';
import { toFrames } from './to-frames.js';

/** What becomes of the connection when all packets are written. */
export type ReplyEnd = 'end' | 'cut' | 'reset' | 'stall';

/** What the upstream writes. `silent` writes nothing, not even a head, and keeps the connection open. */
export type Reply =
  | 'silent'
  | {
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      /** Written one by one; while the upstream is held, each waits for its release. */
      readonly packets: Iterable<Uint8Array>;
      readonly end: ReplyEnd;
    };

/** The reply that gives the answers in an upstream's own wording. */
export function toReply(answers: ChatAnswers, quirks: Quirks, asked: Asked): Reply {
  if (quirks.json === true || asked.stream === false) {
    const body = JSON.stringify(toCompletion(answers, quirks, asked));
    const by = quirks.breaks?.by;
    if (typeof by !== 'string') return textReply(body, 'application/json', quirks);
    return { ...textReply(body.slice(0, body.length / 2), 'application/json', quirks), end: by };
  }
  return streamReply(toFrames(toChunks(answers, quirks, asked), quirks), quirks);
}

/** A stream of events as they are, each in a packet of its own or cut smaller. */
export function streamReply(frames: readonly string[], quirks: TransportQuirks = {}): Reply {
  const by = quirks.breaks?.by;
  return {
    status: quirks.status ?? 200,
    headers: { 'content-type': 'text/event-stream', ...compressed(quirks), ...quirks.headers },
    packets: toPackets(
      (quirks.together === true ? [frames.join('')] : frames).map((frame) => Buffer.from(frame)),
      quirks,
    ),
    end: typeof by === 'string' ? by : 'end',
  };
}

/** A whole body of some type. */
export function textReply(body: string, contentType: string, quirks: TransportQuirks = {}): Exclude<Reply, 'silent'> {
  return {
    status: quirks.status ?? 200,
    headers: {
      ...(contentType === '' ? {} : { 'content-type': contentType }),
      ...compressed(quirks),
      ...quirks.headers,
    },
    packets: body === '' ? [] : toPackets([Buffer.from(body)], quirks),
    end: 'end',
  };
}

function compressed({ gzip }: TransportQuirks): Readonly<Record<string, string>> {
  return gzip === true ? { 'content-encoding': 'gzip' } : {};
}

function toPackets(parts: readonly Buffer[], { packetBytes = Infinity, gzip }: TransportQuirks): readonly Buffer[] {
  return (gzip === true ? [gzipSync(Buffer.concat(parts))] : parts).flatMap((part) => cut(part, packetBytes));
}

function cut(bytes: Buffer, size: number): Buffer[] {
  if (bytes.length <= size) return [bytes];
  const count = Math.ceil(bytes.length / size);
  return Array.from({ length: count }, (_, index) => bytes.subarray(index * size, (index + 1) * size));
}
