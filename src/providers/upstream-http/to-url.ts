/** What the URLs of an upstream are made of. */
export interface UrlBase {
  readonly baseUrl: string;
  readonly query: Readonly<Record<string, string>>;
}

/** The URL of a path below an upstream's base URL, with the query parameters of every request. */
export function toUrl({ baseUrl, query }: UrlBase, path: string): URL {
  const base = new URL(baseUrl);
  const url = new URL(base.pathname.replace(/\/+$/, '') + path, base.origin);
  for (const [name, value] of base.searchParams) url.searchParams.append(name, value);
  for (const [name, value] of Object.entries(query)) url.searchParams.append(name, value);
  return url;
}
