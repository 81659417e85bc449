import type * as Jose from 'jose';

import { type Environment, isSafeUrl } from '../config/index.js';

/** How long the issuer may take to answer, ms. */
const TIMEOUT_MS = 5000;

/** Most bytes that the issuer may answer with: a set of keys has a few thousand. */
const MOST_BYTES = 256 * 1024;

/**
 * The keys of the issuer: those of JWT_JWKS_URL or, without it, those that the issuer's OpenID configuration names. They are read when they
 * are first needed, kept for ten minutes, and read again for a key that is not among them, at most every 30 seconds. Rejects when the
 * configuration cannot be read.
 */
export async function openKeySet(jose: typeof Jose, environment: Environment): Promise<Jose.JWTVerifyGetKey> {
  const url = environment.JWT_JWKS_URL === '' ? await discover(environment.JWT_ISSUER) : environment.JWT_JWKS_URL;
  return jose.createRemoteJWKSet(new URL(requireSafe(url)), {
    timeoutDuration: TIMEOUT_MS,
    [jose.customFetch]: fetchSmall,
  });
}

async function discover(issuer: string): Promise<string> {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const answer = await fetchSmall(url, {
    headers: new Headers({ accept: 'application/json' }),
    method: 'GET',
    redirect: 'manual',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  if (answer.status !== 200)
    throw new Error(`the OpenID configuration of the issuer was answered with ${answer.status}`);
  const found = (await answer.json()) as { readonly issuer?: unknown; readonly jwks_uri?: unknown } | null;
  if (found?.issuer !== issuer) throw new Error('the OpenID configuration names another issuer');
  if (typeof found.jwks_uri !== 'string') throw new Error('the OpenID configuration has no jwks_uri');
  return found.jwks_uri;
}

/** Over plain HTTP, whoever is in between could give keys of their own. */
function requireSafe(url: string): string {
  if (isSafeUrl(url)) return url;
  throw new Error('the keys of the issuer are not served over https');
}

/** An answer that is read up to a bound; a longer one is an error. */
const fetchSmall: Jose.FetchImplementation = async (url, options) => {
  const answer = await fetch(url, options);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of (answer.body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    if (bytes > MOST_BYTES) throw new Error(`the issuer answers with more than ${MOST_BYTES} bytes`);
    chunks.push(chunk);
  }
  const { status, headers } = answer;
  return new Response(status === 204 ? null : Buffer.concat(chunks), { status, headers });
};
