import { readVersion } from '../../read-version.js';
import type { WebClient, WebClientSettings } from './web-client.js';

/** A WebClient, loaded on demand, as the HTTP client is large. `contact`: who reads; empty where nobody says. */
export async function openWebClient(
  settings: Omit<WebClientSettings, 'userAgent'>,
  contact: string,
): Promise<WebClient> {
  const { WebClient } = await import('./web-client.js');
  return new WebClient({ ...settings, userAgent: toUserAgent(contact) });
}

/** How this service names itself to the servers of others. */
export function toUserAgent(contact: string): string {
  return `antiphon/${readVersion()}${contact === '' ? '' : ` (+${contact})`}`;
}
