import type { Environment } from './environment.js';
import { hasCredentials } from './has-credentials.js';

/** Whether an address or host name can only mean this machine. */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase();
  return name === 'localhost' || name.endsWith('.localhost') || name === '::1' || /^127(?:\.\d{1,3}){3}$/.test(name);
}

/** The address to listen on: HOST, or 0.0.0.0 with API keys and 127.0.0.1 without. */
export function listenAddress(environment: Environment): string {
  const { HOST } = environment;
  if (HOST !== '') return HOST;
  return hasCredentials(environment) ? '0.0.0.0' : '127.0.0.1';
}
