import { randomUUID } from 'node:crypto';

/** The traffic of one answer. A request for `bench` has it in its metadata; one for an upstream, or through a door, in the name of its model. */
export interface Traffic {
  /** Text deltas. */
  readonly deltas: number;
  /** Deltas that are written at once. */
  readonly burst: number;
  /** Mean time between two bursts, ms; by default the next turn of the event loop. */
  readonly pauseMs?: number;
}

/** A piece of text about as long as a token. */
export const DELTA = ' harbor';

/** Events of a text answer besides deltas: four open it, four close it. */
export const FRAMING_EVENTS = 8;

/** The name of the model that calls a tool in every turn. */
export const AGENT_MODEL = 'bench-agent';

/** The name of the model that calls a tool once, and then answers. */
export const CALLER_MODEL = 'bench-caller';

/** What that model answers without a call. */
export const NO_CALL = 'Answer at once.';

/** The tool that it calls, and what it gets. */
export const SEARCH = {
  name: 'search',
  description: 'Finds lines of the repository.',
  /** Of its one parameter. */
  path: 'Relative to the root of the repository.',
  output: 'src/harbor/pilot.ts:42:  const berth = await this.berths.reserve(ship, { draught, tide, until });',
};

/** Prefix of the upstream's models. */
export const MODEL_PREFIX = 'bench-';

const INPUT = 'Tell me about the harbor.';

/** The body of a request, JSON. Streams are without obfuscation padding, whose length is random. */
export function toBody(
  model: string,
  traffic: Traffic | null,
  members: Readonly<Record<string, unknown>> = {},
): string {
  const metadata = traffic && Object.fromEntries(Object.entries(traffic).map(([name, value]) => [name, String(value)]));
  const options = members.stream === true ? { stream_options: { include_obfuscation: false } } : {};
  return JSON.stringify({ model, input: INPUT, ...(metadata && { metadata }), ...members, ...options });
}

/** The traffic that the metadata of a request ask for. */
export function readTraffic(metadata: Readonly<Record<string, string>> | null | undefined): Traffic {
  const { deltas, burst, pauseMs = 0 } = metadata ?? {};
  return { deltas: Number(deltas), burst: Number(burst), pauseMs: Number(pauseMs) };
}

/** The model of the upstream that writes this traffic. */
export function toModel({ deltas, burst, pauseMs = 0 }: Traffic): string {
  return `${MODEL_PREFIX}${deltas}-${burst}-${pauseMs}`;
}

/** The traffic that a model name encodes. */
export function readModel(model: string): Required<Traffic> {
  const [deltas = NaN, burst = NaN, pauseMs = NaN] = model.slice(MODEL_PREFIX.length).split('-').map(Number);
  return { deltas, burst, pauseMs };
}

/** The body of a Chat Completions request, JSON. */
export function toChatBody(model: string, stream: boolean, streamOptions: object = {}, input = INPUT): string {
  const options = stream ? { stream, stream_options: { include_usage: true, ...streamOptions } } : {};
  return JSON.stringify({ model, messages: [{ role: 'user', content: input }], ...options });
}

/** The body of a request of Anthropic, JSON. */
export function toMessagesBody(model: string, stream: boolean): string {
  return JSON.stringify({ model, max_tokens: 1024, messages: [{ role: 'user', content: INPUT }], stream });
}

/** A new id of the service's form. */
export function makeId(prefix: string): string {
  return `${prefix}_${randomUUID().replaceAll('-', '')}`;
}

/** Marks a stamped delta; occurs nowhere else in an answer. */
export const STAMP_MARK = '@';

const RADIX = 36;

/** A piece of text about as long as a token that contains the time of its writing, so that its reader can compute the delay. */
export function makeStamp(): string {
  return ` ${STAMP_MARK}${Math.round(monotonicMilliseconds() * 1000).toString(RADIX)}`;
}

/** The time of a stamp, in `monotonicMilliseconds`. `end` is the index of the quote that ends the text. */
export function readStamp(text: string, mark: number, end: number): number {
  return Number.parseInt(text.slice(mark + 1, end), RADIX) / 1000;
}

/** A monotonic clock shared by all processes of this machine, ms. */
export function monotonicMilliseconds(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}
