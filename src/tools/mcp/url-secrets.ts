import { findSecrets, redact } from '../../providers/index.js';

/** A part of a URL that is no word: long, of letters and digits. */
const RANDOM = /^(?=.*\d)(?=.*[a-z])[\w.~%+=-]{16,}$/i;

/** What of a URL is a credential: values of its query with telling names, and parts of it that look random. Some servers ask for nothing else. */
export function secretsInUrl({ pathname, searchParams }: URL): readonly string[] {
  const parts = [...pathname.split('/'), ...searchParams.values()];
  return [...namedSecrets(searchParams), ...parts.filter((part) => RANDOM.test(part))];
}

/** Whether a URL says itself that it has a credential, by a name in its query. */
export function namesUrlSecret(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && namedSecrets(url.searchParams).length > 0;
}

function namedSecrets(query: URLSearchParams): readonly string[] {
  return findSecrets(Object.fromEntries(query), []);
}

/** A URL without its credentials; a text that is no URL as it is. */
export function withoutUrlSecrets(text: string): string {
  const url = URL.parse(text);
  return url === null ? text : redact(text, secretsInUrl(url));
}
