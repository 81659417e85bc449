import { gzipSync } from 'node:zlib';

import type { HttpReply } from '../upstream-server.js';
import type { ChatAnswers } from './chat-answer.js';
import type { FrameQuirks, Quirks, TransportQuirks } from './quirks.js';
import { type Asked, type ChatObject, toChunks, toCompletion } from './to-chunks.js';
import { ERROR_FRAMES, NONSENSE_DATA } from './breaks.js';

/** The texts of a stream's events, in order; where the answer breaks off, what was to come is not among them. */
function toFrames(chunks: readonly ChatObject[], quirks: Quirks): readonly string[] {
  const events = chunks.map((chunk) =>
    dataLines(JSON.stringify(chunk, null, quirks.multiLine === true ? 1 : 0), quirks),
  );
  const done = quirks.done === false ? [] : [dataLines('[DONE]', quirks)];
  const more = quirks.afterDone === true ? [dataLines(JSON.stringify(AFTER_DONE), quirks)] : [];
  const all = broken([...events, ...done, ...more], quirks);
  return all.map((lines, position) => frame(lines, quirks, position, position === all.length - 1));
}

const AFTER_DONE = { choices: [{ index: 0, delta: { content: 'after the end' }, finish_reason: null }] };

function dataLines(data: string, { noSpace, doubledField, jsonLines }: FrameQuirks): readonly string[] {
  if (jsonLines === true) return [data];
  const field = doubledField === true ? 'data: data:' : 'data:';
  return data.split('\n').map((line) => `${field}${noSpace === true ? '' : ' '}${line}`);
}

function broken(events: readonly (readonly string[])[], { breaks, ...quirks }: Quirks): readonly (readonly string[])[] {
  if (breaks === undefined) return events;
  const before = events.slice(0, breaks.after);
  const after = breaks.goesOn === true ? events.slice(breaks.after) : [];
  if (typeof breaks.by === 'string') return before;
  const instead =
    'error' in breaks.by ? ERROR_FRAMES[breaks.by.error] : dataLines(NONSENSE_DATA[breaks.by.nonsense], quirks);
  return [...before, instead, ...after];
}

function frame(lines: readonly string[], quirks: FrameQuirks, position: number, isLast: boolean): string {
  const end = quirks.lineEnd ?? '\n';
  const all = [
    ...(quirks.comments === true ? [': keep-alive', '', ':', ''] : []),
    ...(quirks.blankLines === true ? ['', '', ''] : []),
    ...(quirks.eventName === undefined ? [] : [`event: ${quirks.eventName}`]),
    ...(quirks.idLines === true ? [`id: ${position}`, 'retry: 3000'] : []),
    ...lines,
  ];
  const mark = quirks.byteOrderMark === true && position === 0 ? '\uFEFF' : '';
  const close = (isLast && quirks.openEnd === true) || quirks.tight === true || quirks.jsonLines === true ? '' : end;
  return `${mark}${all.join(end)}${end}${close}`;
}

/** The reply that gives the answers in an upstream's own wording. */
export function toReply(answers: ChatAnswers, quirks: Quirks, asked: Asked): HttpReply {
  if (quirks.json === true || asked.stream === false) {
    const body = JSON.stringify(toCompletion(answers, quirks, asked));
    const by = quirks.breaks?.by;
    if (typeof by !== 'string') return textReply(body, 'application/json', quirks);
    return { ...textReply(body.slice(0, body.length / 2), 'application/json', quirks), end: by };
  }
  return streamReply(toFrames(toChunks(answers, quirks, asked), quirks), quirks);
}

/** A stream of events as they are, each in a packet of its own or cut smaller. */
export function streamReply(frames: readonly string[], quirks: TransportQuirks = {}): HttpReply {
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
export function textReply(
  body: string,
  contentType: string,
  quirks: TransportQuirks = {},
): Exclude<HttpReply, 'silent'> {
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
