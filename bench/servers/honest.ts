/**
 * The honest floor: the best program on bare `node:http` and bare `ws` with the full functionality of a turn. It validates the request
 * with the service's compiled rules, creates items and ids, checks the context, resolves the settings, loads the previous response, sends
 * the Response with its tools, and saves it in a store bounded by count, bytes and age. Each event is built and serialised once, with one
 * write per turn of the event loop. It has no API keys, sessions, lanes, item references, body limits, backpressure, cancellation or
 * failures of the model.
 */
import { createServer, type ServerResponse } from 'node:http';

import type { CreateResponseRequest, Item } from 'antiphon';
import { WebSocketServer } from 'ws';

import type * as Dto from '../../src/responses/dto/index.ts';
import { DELTA, makeId, readTraffic, type Traffic } from '../traffic.ts';
import {
  complete,
  type FloorRequest,
  FloorResponse,
  type Snapshots,
  stream,
  toMessage,
  toOutputText,
  toResponse,
  toUsage,
} from './answer.ts';
import { beginSse, listen, readText, sendJson, writeFrames, writeSse } from './http.ts';

// The built service. The package does not export these functions, which only its transports use.
const dto = (await import(new URL('../../dist/responses/dto/index.js', import.meta.url).href)) as typeof Dto;

/** The service's default for unknown members. Without a search for typos, because the requests have none. */
const OPTIONS = { unknownParameters: 'typos' } as const;

/** Memory of a saved response besides its texts, bytes. */
const OBJECT_BYTES = 4000;

/** The service's defaults of MEMORY_MAX_RESPONSES, MEMORY_MAX_BYTES and RESPONSE_TTL. */
const MAX_RESPONSES = 100_000;
const MAX_BYTES = 256 * 1024 * 1024;
const TTL_MS = 30 * 24 * 60 * 60 * 1000;

/** A saved response. */
interface StoredResponse {
  readonly id: string;
  readonly input: readonly Item[];
  readonly output: readonly Item[];
  /** What clients see. */
  readonly response: object;
  /** The previous response. The reference retains it after its eviction. */
  readonly parent: StoredResponse | null;
  /** Approximate memory usage. */
  readonly bytes: number;
  /** Unix milliseconds. */
  readonly expiresAt: number;
}

/** Saves responses in memory, bounded by count, bytes and age. Evicts the oldest first. */
class HonestStore {
  private readonly responses = new Map<string, StoredResponse>();
  /** A persistent iterator: a new one would skip over all deleted entries. */
  private oldest = this.responses.values();
  private bytes = 0;

  /** Throws an Error if the response was evicted or has expired. */
  get(id: string): StoredResponse {
    const stored = this.responses.get(id);
    if (stored !== undefined && stored.expiresAt > Date.now()) return stored;
    throw new Error(`Previous response with id '${id}' not found.`);
  }

  add(response: Omit<StoredResponse, 'expiresAt'>): void {
    this.responses.set(response.id, { ...response, expiresAt: Date.now() + TTL_MS });
    this.bytes += response.bytes;
    while (this.responses.size > MAX_RESPONSES || this.bytes > MAX_BYTES) this.dropOldest();
  }

  private dropOldest(): void {
    const { value } = this.oldest.next();
    if (value === undefined) {
      this.oldest = this.responses.values();
      return;
    }
    this.responses.delete(value.id);
    this.bytes -= value.bytes;
  }
}

const store = new HonestStore();

/** A turn of a validated request, with its context and the Response object that all snapshots share. */
interface HonestTurn extends Snapshots {
  readonly traffic: Traffic;
}

/** Begins a turn; the length is that of the request's text. Throws an Error if the input is invalid after the context. */
function begin(request: CreateResponseRequest, requestLength: number): HonestTurn {
  const parent = request.previous_response_id == null ? null : store.get(request.previous_response_id);
  const input = toItems(request.input);
  checkConversation(parent, input);
  const response = toResponse(request as FloorRequest, makeId('resp'), toSeconds());
  return {
    traffic: readTraffic(request.metadata),
    started: () => response,
    completed(item, text, usage) {
      complete(response, item, usage, toSeconds());
      const bytes = OBJECT_BYTES + 2 * (requestLength + text.length);
      if (request.store ?? true) store.add({ id: response.id, input, output: [item], response, parent, bytes });
      return response;
    },
  };
}

/** The Response without streaming, with the member that only this form has. */
function toJson(turn: HonestTurn): string {
  const { deltas } = turn.traffic;
  const text = DELTA.repeat(deltas);
  const item = toMessage(makeId('msg'), toOutputText(text));
  const response = JSON.stringify(turn.completed(item, text, toUsage(8, deltas)));
  return `${response.slice(0, -1)},"output_text":${JSON.stringify(text)}}`;
}

function toSeconds(): number {
  return Math.floor(Date.now() / 1000);
}

const ID_PREFIXES: Readonly<Record<string, string>> = {
  reasoning: 'rs',
  function_call: 'fc',
  function_call_output: 'fco',
};

/** The input of a request as items to save. */
function toItems(input: CreateResponseRequest['input']): readonly Item[] {
  if (input === undefined || input === null) return [];
  if (typeof input === 'string') return [toInputMessage({ role: 'user', content: input })];
  return input.map((item) => {
    const type = item.type ?? 'message';
    if (type === 'message') return toInputMessage(item);
    return { ...item, type, id: item.id ?? makeId(ID_PREFIXES[type] ?? 'item') };
  });
}

function toInputMessage(item: { readonly id?: string | null; readonly [member: string]: unknown }): Item {
  const { id, role, content, status } = item;
  const toPart = (text: string): object =>
    role === 'assistant' ? { type: 'output_text', text, annotations: [] } : { type: 'input_text', text };
  return {
    ...item,
    type: 'message',
    id: id ?? makeId('msg'),
    status: status ?? 'completed',
    role,
    content: typeof content === 'string' ? [toPart(content)] : content,
  };
}

/** Types of client calls and of their outputs. */
const CALLS = ['function_call', 'custom_tool_call', 'computer_call', 'shell_call', 'apply_patch_call'];
const CALL_TYPES = new Set(CALLS);
const OUTPUT_TYPES = new Set(CALLS.map((call) => `${call}_output`));

/** Throws an Error unless no item occurs twice, every output has a call, and every call an output. */
function checkConversation(parent: StoredResponse | null, input: readonly Item[]): void {
  const ids = new Set<string>();
  const calls = new Set<unknown>();
  const answered = new Set<unknown>();
  const add = (items: readonly Item[]): void => {
    for (const { id, type, call_id: callId } of items) {
      if (ids.has(id)) throw new Error(`Duplicate item found with id ${id}.`);
      ids.add(id);
      if (CALL_TYPES.has(type)) calls.add(callId);
      else if (OUTPUT_TYPES.has(type)) answered.add(callId);
    }
  };
  for (let stored = parent; stored !== null; stored = stored.parent) {
    add(stored.input);
    add(stored.output);
  }
  add(input);
  for (const id of answered) if (!calls.has(id)) throw new Error(`No tool call found with call_id ${String(id)}.`);
  for (const id of calls) if (!answered.has(id)) throw new Error(`No tool output found for call ${String(id)}.`);
}

/** The body of any error response. */
function toRefusal(error: unknown): object {
  const message = error instanceof Error ? error.message : String(error);
  return { error: { message, type: 'invalid_request_error', param: null, code: null } };
}

function answer(text: string, reply: ServerResponse): void {
  try {
    const request = dto.validateCreateRequest(JSON.parse(text), OPTIONS);
    const turn = begin(request, text.length);
    if (request.stream !== true) {
      sendJson(reply, 200, toJson(turn));
      return;
    }
    beginSse(reply);
    stream(turn.traffic, new FloorResponse(turn), (events, isLast) => writeSse(reply, events, isLast));
  } catch (error) {
    sendJson(reply, 400, JSON.stringify(toRefusal(error)));
  }
}

const server = createServer((request, reply) => {
  if (request.method !== 'POST' || request.url !== '/v1/responses') reply.writeHead(404).end();
  else readText(request, (text) => answer(text, reply));
});

const sockets = new WebSocketServer({ server, path: '/v1/responses', perMessageDeflate: false });
sockets.on('connection', (socket, { socket: tcp }) => {
  socket.on('message', (data: Buffer) => {
    try {
      const text = data.toString();
      const frame = JSON.parse(text) as { readonly type?: unknown } | null;
      if (frame?.type !== 'response.create') throw new Error("Expected 'response.create'.");
      const { request } = dto.validateCreateEvent(frame, OPTIONS);
      const turn = begin(request, text.length);
      stream(turn.traffic, new FloorResponse(turn), (events) => writeFrames(socket, tcp, events));
    } catch (error) {
      socket.send(JSON.stringify({ type: 'error', status: 400, ...toRefusal(error) }));
    }
  });
});

listen(server);
