import type OpenAI from 'openai';

import { pause } from './pause.js';
import { RawClient } from './raw-client.js';
import type { Service } from './service.js';
import type { Transport, WireResponse } from './transport.js';

const KEEPALIVE = 'event: keepalive\ndata: {"type":"keepalive"}\n\n';

type Response = OpenAI.Responses.Response;
type Create = OpenAI.Responses.ResponseCreateParamsNonStreaming;

/** A turn in the background, with the defaults of tests. */
export const IN_BACKGROUND = { model: 'scripted', input: 'Hi', background: true } as const;

/** Headers of a request, or its key. */
export interface Asking {
  readonly headers?: Readonly<Record<string, string>>;
  readonly apiKey?: string;
}

/** Creates a background response with the official SDK. */
export function createInBackground(
  service: Service,
  body: Partial<Create> = {},
  { headers = {}, apiKey = 'test' }: Asking = {},
): Promise<Response> {
  return service.client({ apiKey }).responses.create({ ...IN_BACKGROUND, ...body }, { headers });
}

/** Polls a response, as the SDK's documentation shows it, until it is as wanted. Rejects when it ends otherwise. */
export async function pollUntil(
  service: Service,
  id: string,
  isWanted: (response: Response) => boolean,
  { apiKey = 'test' }: Asking = {},
): Promise<Response> {
  const client = service.client({ apiKey });
  for (;;) {
    const response = await client.responses.retrieve(id);
    if (isWanted(response)) return response;
    if (isOver(response)) throw new Error(`it ended as ${JSON.stringify(response)}`);
    await pause();
  }
}

/** Polls a response until it is neither queued nor running. */
export function whenEnded(service: Service, id: string, asking: Asking = {}): Promise<Response> {
  return pollUntil(service, id, isOver, asking);
}

/** A turn in the background that is polled until its end. */
export const BACKGROUND_TRANSPORT: Transport = {
  name: 'background',
  async run(service, body) {
    const { id } = await createInBackground(service, body);
    return { response: (await whenEnded(service, id)) as unknown as WireResponse };
  },
};

/** Polls a response until it runs. */
export function whenRunning(service: Service, id: string): Promise<Response> {
  return pollUntil(service, id, ({ status }) => status === 'in_progress');
}

/** The bytes of a stream of a response, up to its end. */
export async function replay(service: Service, id: string, query = ''): Promise<string> {
  const client = new RawClient(service.port);
  try {
    const { status, text } = await client.send({ path: `/v1/responses/${id}?stream=true${query}` });
    if (status !== 200) throw new Error(`HTTP ${status}: ${text}`);
    // How many keepalives there are depends on the machine.
    return text.replaceAll(KEEPALIVE, '');
  } finally {
    client.close();
  }
}

/** The frames of a stream, by their sequence numbers; without a half one at the end, and without `[DONE]`. */
export function framesOf(stream: string): readonly string[] {
  const frames = stream.split('\n\n').slice(0, -1);
  return frames.filter((frame) => frame.includes('"sequence_number":')).map((frame) => `${frame}\n\n`);
}

/** What a stream must be after an event: the frames that follow, and `[DONE]`. */
export function restAfter(frames: readonly string[], after: number): string {
  return `${frames.slice(after + 1).join('')}data: [DONE]\n\n`;
}

function isOver({ status }: Response): boolean {
  return status !== 'queued' && status !== 'in_progress';
}
