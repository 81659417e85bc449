import type { CodexRun } from './codex-cli.js';
import type { Road } from './stack.js';

/** Every way from Codex to the model. */
export const ROADS: readonly Road[] = [
  { name: 'over SSE', supportsWebsockets: false, services: 1 },
  { name: 'over WebSocket', supportsWebsockets: true, services: 1 },
  { name: 'through two services, over WebSocket', supportsWebsockets: true, services: 2 },
];

/** What the agent says in a run. */
export function messagesIn({ events }: CodexRun): readonly unknown[] {
  return events
    .filter(({ type, item }) => type === 'item.completed' && item?.type === 'agent_message')
    .map(({ item }) => item?.text);
}

/** Of what a run tells its user that something went wrong. */
export function complaintsIn({ events }: CodexRun): readonly unknown[] {
  return events.filter(({ type, item }) => type === 'error' || item?.type === 'error');
}
