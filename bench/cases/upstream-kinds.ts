import { FRAMING_EVENTS } from '../traffic.ts';
import { toResponsesBody, toUpstreamChatBody, type UpstreamTraffic } from '../upstream-traffic.ts';
import type { RelayProgram } from './programs.ts';

/** How an upstream is reached: by the service, by the relay, and directly. */
export interface UpstreamKind {
  /** Settings of the service's provider. */
  readonly provider: object;
  readonly relay: RelayProgram;
  /** The body of a request to the service or the relay. */
  readonly toBody: (traffic: UpstreamTraffic) => string;
  /** Requests to the upstream itself, and frames of its answer besides deltas, `[DONE]` included. */
  readonly direct: {
    readonly path: string;
    readonly toBody: (traffic: UpstreamTraffic) => string;
    readonly framing: number;
  };
}

/** Connections to an upstream: more than streams, as in the relay. */
const CONNECTIONS = 4096;

/** All turns belong to one conversation, so that they find open sockets: the relay gives them any. */
const toBody = (traffic: UpstreamTraffic): string => toResponsesBody(traffic, 'bench');

const DIRECT_RESPONSES: UpstreamKind['direct'] = { path: '/v1/responses', toBody, framing: FRAMING_EVENTS + 1 };

/** An upstream with Chat Completions. */
export const CHAT_COMPLETIONS: UpstreamKind = {
  provider: { connections: CONNECTIONS },
  relay: 'relay',
  toBody: (traffic) => toResponsesBody(traffic),
  direct: { path: '/v1/chat/completions', toBody: toUpstreamChatBody, framing: 4 },
};

/** An upstream with the Responses API over SSE. */
export const RESPONSES_OVER_SSE: UpstreamKind = {
  provider: { kind: 'responses', connections: CONNECTIONS },
  relay: 'responses-relay',
  toBody,
  direct: DIRECT_RESPONSES,
};

/** An upstream with the Responses API over WebSocket. */
export const RESPONSES_OVER_WEBSOCKET: UpstreamKind = {
  provider: { kind: 'responses', supports_websockets: true, websocket_connections: CONNECTIONS },
  relay: 'socket-relay',
  toBody,
  direct: DIRECT_RESPONSES,
};
