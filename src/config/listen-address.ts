import type { Environment } from './environment.js';

/** Whether an address or host name can only mean this machine. */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase();
  return name === 'localhost' || name.endsWith('.localhost') || name === '::1' || /^127(?:\.\d{1,3}){3}$/.test(name);
}

/** The address to listen on: HOST, or 0.0.0.0 with API keys and 127.0.0.1 without. */
export function listenAddress({ HOST, API_KEYS }: Environment): string {
  if (HOST !== '') return HOST;
  return API_KEYS.length > 0 ? '0.0.0.0' : '127.0.0.1';
}
