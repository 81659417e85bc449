/** The traffic of one turn. */
export interface Traffic {
  /** Text deltas in the answer. */
  readonly deltas: number;
  /** Deltas per turn of the event loop. */
  readonly burst: number;
  /** Pause between bursts, ms; by default the next turn of the event loop. */
  readonly pauseMs?: number;
}

/** A piece of text about as long as a token. */
export const DELTA = ' harbor';

/** Events of a text answer besides deltas: four open it, four close it. */
export const FRAMING_EVENTS = 8;

const STREAM = { stream: true, stream_options: { include_obfuscation: false } };

/** The body of a request for this traffic. Without obfuscation padding, whose length is random. */
export function toRequestBody(model: string, traffic: Traffic, previousResponseId?: string): string {
  return JSON.stringify({
    ...toRequest(model, traffic),
    previous_response_id: previousResponseId,
    ...STREAM,
  });
}

/** The body of the same request in the background, streamed or not. */
export function toBackgroundRequestBody(model: string, traffic: Traffic, isStream: boolean): string {
  return JSON.stringify({ ...toRequest(model, traffic), background: true, ...(isStream ? STREAM : {}) });
}

/** The body of the same request without streaming. */
export function toJsonRequestBody(model: string, traffic: Traffic, store?: boolean): string {
  return JSON.stringify({ ...toRequest(model, traffic), store });
}

function toRequest(model: string, traffic: Traffic): object {
  const metadata = Object.fromEntries(Object.entries(traffic).map(([name, value]) => [name, String(value)]));
  return { model, input: 'Tell me about the harbor.', metadata };
}

/** The traffic requested in the metadata. */
export function readTraffic(metadata: Readonly<Record<string, string>> | null): Traffic {
  const { deltas, burst, pauseMs = 0 } = metadata ?? {};
  return { deltas: Number(deltas), burst: Number(burst), pauseMs: Number(pauseMs) };
}
