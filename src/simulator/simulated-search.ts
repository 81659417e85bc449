import { Injectable } from '@nestjs/common';

import {
  type EngineOptions,
  type SearchQuery,
  type SearchResult,
  WebSearchEngine,
  WebSearchError,
} from '../tools/web-search/index.js';
import { Spaces } from './spaces/index.js';

/** Results without a script. */
const MADE_UP = 3;

/** The engine of WEB_SEARCH=simulator: finds what `web` of the scripts says for a query, and makes results up for all others. */
@Injectable()
export class SimulatedSearch extends WebSearchEngine {
  override readonly name = 'simulator';

  constructor(private readonly spaces: Spaces) {
    super();
  }

  override search(query: SearchQuery, { tenant }: EngineOptions): Promise<readonly SearchResult[]> {
    const asked = query.text.toLowerCase();
    const found = this.spaces
      .of(tenant, '')
      .scripts.flatMap(({ file }) => file.web ?? [])
      .find(({ query: part = '' }) => asked.includes(part.toLowerCase()));
    if (found?.error !== undefined) return Promise.reject(new WebSearchError(found.error));
    return Promise.resolve(found?.results?.map((result) => ({ text: '', ...result })) ?? makeUp(query));
  }
}

/** Makes up results within the domains of a query: always the same ones for the same query. */
function makeUp({ text, allowedDomains: [domain = 'example.com'] }: SearchQuery): readonly SearchResult[] {
  const path = encodeURIComponent(text.toLowerCase().replaceAll(/\s+/g, '-'));
  return Array.from({ length: MADE_UP }, (_, index) => ({
    title: `${text} (${index + 1})`,
    url: `https://${domain}/${path}/${index + 1}`,
    text: `Simulated result ${index + 1} for: ${text}`,
  }));
}
