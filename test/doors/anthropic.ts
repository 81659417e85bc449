import Anthropic, { type ClientOptions } from '@anthropic-ai/sdk';

import type { ServiceOptions } from '../support/service.js';
import { ScriptedProvider } from '../../src/testing/index.js';

/** A service with one key, in front of a scripted model. */
export const BEHIND_KEY: ServiceOptions = {
  environment: { API_KEYS: 'acme:key-of-acme', DOORS: 'messages' },
  providers: [ScriptedProvider],
};

/** The least that can be asked. */
export const HELLO = { model: 'scripted', max_tokens: 100, messages: [{ role: 'user' as const, content: 'Hi.' }] };

export const LOOK = {
  name: 'look',
  description: 'Looks.',
  input_schema: { type: 'object' as const, properties: { at: { type: 'integer' } } },
};

/** The official client of the service. */
export function anthropic({ origin }: { readonly origin: string }, options: ClientOptions = {}): Anthropic {
  return new Anthropic({ baseURL: origin, apiKey: 'key-of-acme', authToken: null, maxRetries: 0, ...options });
}
