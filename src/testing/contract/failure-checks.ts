import { requireRule } from '../events/rule.js';
import type { Answer } from './answer.js';
import type { Check } from './check.js';
import { TRANSPORTS } from './transports.js';

/** A failing upstream, for subjects that can simulate one. */
export const FAILURE_CHECKS: readonly Check[] = Object.values(TRANSPORTS).map((transport) => ({
  name: `tells when its upstream fails (${transport.name})`,
  run: async (service) => {
    const { headers = {}, body = {} } = service.subject.failing ?? {};
    requireFailure(await service.ask('Say hello.', { transport, headers, body }));
    await service.askWell('Say hello.', { transport });
  },
}));

/** A refusal, or a response that failed. */
export function requireFailure({ response, refusal, seen }: Answer): void {
  requireRule(refusal !== null || response?.status === 'failed', `a failing turn must report an error, not: ${seen}`);
}
