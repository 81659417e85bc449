import { createHash } from 'node:crypto';

import type { Clock } from '../time/index.js';
import type { Fetch } from './bounded-fetch.js';
import { McpFailure } from './failures.js';
import type { OAuthEntry } from './servers-file.js';

/** A token counts as expired this long before it does, ms: it has a way to go. */
const EARLY_MS = 30_000;

/** Lifetime of a token whose answer names none, ms. */
const UNKNOWN_LIFETIME_MS = 5 * 60_000;

/** Tokens that are kept, one for each caller. */
const MOST_TOKENS = 1000;

/** How long the authorization server may take, ms. */
const TOKEN_LIMIT_MS = 10_000;

interface Kept {
  readonly token: Promise<string>;
  expiresAtMs: number;
}

/**
 * Tokens for one server: that of the service (client credentials), or one for each caller in exchange for its own (RFC 8693). A token is kept
 * until it expires or is refused.
 */
export class OAuthTokens {
  /** By the hash of the caller's token, the oldest first. */
  private readonly kept = new Map<string, Kept>();

  constructor(
    private readonly entry: OAuthEntry,
    private readonly fetch: Fetch,
    private readonly clock: Clock,
  ) {}

  /** Whether a caller must bring a token. */
  get needsCaller(): boolean {
    return this.entry.grant === 'token_exchange';
  }

  /**
   * A token for the server. Rejects with McpFailure.
   *
   * @param callerToken what is exchanged; null for the service itself
   */
  async get(callerToken: string | null): Promise<string> {
    const key = keyOf(callerToken);
    const known = this.kept.get(key);
    if (known !== undefined && this.clock.now() < known.expiresAtMs) return known.token;
    const asked = this.ask(callerToken);
    const kept: Kept = { token: asked.then(({ token }) => token), expiresAtMs: Infinity };
    // Whoever waits for it is told.
    kept.token.catch(() => undefined);
    this.kept.delete(key);
    this.kept.set(key, kept);
    const [oldest = key] = this.kept.keys();
    if (this.kept.size > MOST_TOKENS) this.kept.delete(oldest);
    try {
      const { token, expiresAtMs } = await asked;
      kept.expiresAtMs = expiresAtMs;
      return token;
    } catch (error) {
      this.forget(key, kept);
      throw error;
    }
  }

  /** Forgets a token that its server has refused. */
  async refused(callerToken: string | null, token: string | null): Promise<void> {
    const key = keyOf(callerToken);
    const kept = this.kept.get(key);
    // Another request may have got a new one meanwhile.
    if (kept !== undefined && (await kept.token.catch(() => token)) === token) this.forget(key, kept);
  }

  private forget(key: string, kept: Kept): void {
    if (this.kept.get(key) === kept) this.kept.delete(key);
  }

  private async ask(callerToken: string | null): Promise<{ readonly token: string; readonly expiresAtMs: number }> {
    const { token_url: url, client_id: id, client_secret: secret, scope, audience, resource } = this.entry;
    const askedAtMs = this.clock.now();
    const form = new URLSearchParams({ ...grantOf(callerToken), ...defined({ scope, audience, resource }) });
    const basic = Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64');
    const late = new AbortController();
    const timer = this.clock.schedule(TOKEN_LIMIT_MS, () => late.abort());
    try {
      const answer = await this.fetch(url, {
        method: 'POST',
        headers: {
          authorization: `Basic ${basic}`,
          accept: 'application/json',
          'content-type': 'application/x-www-form-urlencoded',
        },
        body: form.toString(),
        signal: late.signal,
      });
      const body = (await answer.json().catch(() => null)) as Partial<Record<string, unknown>> | null;
      const { access_token: token, expires_in: seconds } = body ?? {};
      if (!answer.ok || typeof token !== 'string') {
        throw new McpFailure('credentials', `The authorization server gave no token (HTTP ${answer.status}).`);
      }
      const lifetimeMs = typeof seconds === 'number' ? seconds * 1000 : UNKNOWN_LIFETIME_MS;
      return { token, expiresAtMs: askedAtMs + Math.max(0, lifetimeMs - EARLY_MS) };
    } catch (error) {
      if (error instanceof McpFailure) throw error;
      throw new McpFailure('credentials', 'The authorization server did not answer.', undefined, { cause: error });
    } finally {
      timer.cancel();
    }
  }
}

function grantOf(callerToken: string | null): Readonly<Record<string, string>> {
  if (callerToken === null) return { grant_type: 'client_credentials' };
  return {
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token: callerToken,
    subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
  };
}

function keyOf(callerToken: string | null): string {
  return callerToken === null ? '' : createHash('sha256').update(callerToken).digest('base64');
}

function defined(values: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Record<
    string,
    string
  >;
}
