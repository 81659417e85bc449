/** What one turn of the benchmark is made of. */
export interface Traffic {
  /** Text deltas in the answer. */
  readonly deltas: number;
  /** Deltas that come in one turn of the event loop. */
  readonly burst: number;
}

/** A piece of text about as long as a token. */
export const DELTA = ' harbor';

/** Events of an answer in text beside its deltas: four that open it, four that close it. */
export const FRAMING_EVENTS = 8;

/** The body of a request that asks a model for this traffic. Padding is random in length, so it is left out. */
export function toRequestBody(model: string, traffic: Traffic, previousResponseId?: string): string {
  return JSON.stringify({
    ...toRequest(model, traffic),
    previous_response_id: previousResponseId,
    stream: true,
    stream_options: { include_obfuscation: false },
  });
}

/** The body of the same request for an answer in one piece. */
export function toJsonRequestBody(model: string, traffic: Traffic): string {
  return JSON.stringify(toRequest(model, traffic));
}

function toRequest(model: string, { deltas, burst }: Traffic): object {
  return { model, input: 'Tell me about the harbor.', metadata: { deltas: String(deltas), burst: String(burst) } };
}

/** The traffic that a request asks for in its metadata. */
export function readTraffic(metadata: Readonly<Record<string, string>> | null): Traffic {
  return { deltas: Number(metadata?.deltas), burst: Number(metadata?.burst) };
}
