/** The traffic of one turn. */
export interface Traffic {
  /** Text deltas in the answer. */
  readonly deltas: number;
  /** Deltas per turn of the event loop. */
  readonly burst: number;
}

/** A piece of text about as long as a token. */
export const DELTA = ' harbor';

/** Events of a text answer besides deltas: four open it, four close it. */
export const FRAMING_EVENTS = 8;

/** The body of a request for this traffic. Without obfuscation padding, whose length is random. */
export function toRequestBody(model: string, traffic: Traffic, previousResponseId?: string): string {
  return JSON.stringify({
    ...toRequest(model, traffic),
    previous_response_id: previousResponseId,
    stream: true,
    stream_options: { include_obfuscation: false },
  });
}

/** The body of the same request without streaming. */
export function toJsonRequestBody(model: string, traffic: Traffic): string {
  return JSON.stringify(toRequest(model, traffic));
}

function toRequest(model: string, { deltas, burst }: Traffic): object {
  return { model, input: 'Tell me about the harbor.', metadata: { deltas: String(deltas), burst: String(burst) } };
}

/** The traffic requested in the metadata. */
export function readTraffic(metadata: Readonly<Record<string, string>> | null): Traffic {
  return { deltas: Number(metadata?.deltas), burst: Number(metadata?.burst) };
}
