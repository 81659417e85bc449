import { isDeepStrictEqual } from 'node:util';

import { Injectable } from '@nestjs/common';

import { Environment } from '../../config/index.js';
import { ApiError, IdGenerator, type Item } from '../../protocol/index.js';
import type { Turn } from '../../providers/index.js';
import { Clock } from '../../time/index.js';
import { isObject } from '../../validation/index.js';
import { WebSearch } from '../../tools/web-search/index.js';
import { PassPolicy, type TurnPolicy } from '../turn/pass-policy.js';
import type { WebSearchParam } from './web-search-calls.js';
import { isWebSearch, webSearchToolsOf, webSearchTurn } from './web-search-turn.js';

const CONTEXT_SIZES: ReadonlySet<unknown> = new Set(['low', 'medium', 'high']);
const BUDGETS: ReadonlySet<unknown> = new Set(['default', 'unlimited']);
const CONTENT_TYPES: ReadonlySet<unknown> = new Set(['text', 'image']);
const DOMAIN_LISTS = ['allowed_domains', 'blocked_domains'] as const;
const MOST_DOMAINS = 100;
const PLACES: readonly string[] = ['city', 'country', 'region', 'timezone'];
const LONGEST_PLACE = 256;
const DOMAIN =
  /^(?=.{1,253}$)[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?(?:\.[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?)*$/u;

/** Searches the web for the models of all providers, with the engines of WEB_SEARCH (docs/web-search.md). */
@Injectable()
export class WebSearchPolicy extends PassPolicy {
  constructor(
    private readonly web: WebSearch,
    private readonly ids: IdGenerator,
    private readonly clock: Clock,
    private readonly environment: Environment,
  ) {
    super();
  }

  override begin(turn: Turn): TurnPolicy | undefined {
    if (!this.web.isOn) return undefined;
    const [found] = webSearchToolsOf(turn);
    const { web, ids, clock, environment } = this;
    return found === undefined ? undefined : webSearchTurn(found.tool, turn, { web, ids, clock, environment });
  }

  override runs(tool: object): boolean {
    return this.web.isOn && isWebSearch(tool);
  }

  override check(turn: Turn, _input: readonly Item[]): void {
    if (!this.web.isOn) return;
    const [first, ...others] = webSearchToolsOf(turn);
    if (first !== undefined) checkTool(first.tool, first.place);
    const other = others.find(({ tool }) => !isDeepStrictEqual(tool, first?.tool));
    if (other === undefined) return;
    const message = `A request searches the web with one tool: '${other.place}' differs from '${first?.place}'.`;
    throw ApiError.of('invalid_value', message, { param: other.place });
  }
}

/** Calls `refuse` for members that mean nothing. Engines take a country by its code alone, and refuse searches with another. */
function checkLocation(location: unknown, refuse: (member: string, fault: string) => never): void {
  if (!isObject(location)) refuse('user_location', 'expected an object');
  for (const [name, value] of Object.entries(location as object)) {
    const member = `user_location.${name.slice(0, LONGEST_PLACE)}`;
    if (name === 'type' ? value !== 'approximate' : !PLACES.includes(name))
      refuse(member, name === 'type' ? "expected 'approximate'" : `expected ${PLACES.join(', ')} or type`);
    if (value != null && (typeof value !== 'string' || value.length > LONGEST_PLACE))
      refuse(member, `expected a string of at most ${LONGEST_PLACE} characters`);
    if (name === 'country' && value != null && !/^[a-z]{2}$/i.test(String(value)))
      refuse(member, "expected a code of two letters, such as 'PT'");
  }
}

/** Throws ApiError 400 for members that mean nothing. */
function checkTool(tool: WebSearchParam, place: string): void {
  const refuse = (member: string, fault: string): never => {
    throw ApiError.of('invalid_value', `Invalid '${place}.${member}': ${fault}.`, { param: `${place}.${member}` });
  };
  const { filters, user_location: location, search_content_types: types, external_web_access: isLive } = tool;
  const { search_context_size: size, return_token_budget: budget } = tool;
  if (size != null && !CONTEXT_SIZES.has(size)) refuse('search_context_size', "expected 'low', 'medium' or 'high'");
  const isBudget = budget == null || BUDGETS.has(budget) || (Number.isInteger(budget) && Number(budget) > 0);
  if (!isBudget) refuse('return_token_budget', "expected 'default', 'unlimited', or a number of tokens");
  if (isLive != null && typeof isLive !== 'boolean') refuse('external_web_access', 'expected a boolean');
  if (location != null) checkLocation(location, refuse);
  const isTypes = types == null || (Array.isArray(types) && types.every((type) => CONTENT_TYPES.has(type)));
  if (!isTypes) refuse('search_content_types', "expected a list of 'text' and 'image'");
  if (filters == null) return;
  if (!isObject(filters)) refuse('filters', 'expected an object');
  // With a misspelt filter the whole web would be searched.
  const unknown = Object.keys(filters).find((name) => !DOMAIN_LISTS.includes(name as never));
  if (unknown !== undefined) refuse(`filters.${unknown}`, `expected ${DOMAIN_LISTS.join(' or ')}`);
  for (const name of DOMAIN_LISTS) {
    const domains: unknown = filters[name];
    if (domains == null) continue;
    const member = `filters.${name}`;
    if (!Array.isArray(domains) || domains.length > MOST_DOMAINS)
      refuse(member, `expected up to ${MOST_DOMAINS} domains`);
    const wrong = (domains as unknown[]).findIndex((domain) => typeof domain !== 'string' || !DOMAIN.test(domain));
    if (wrong !== -1)
      refuse(`${member}[${wrong}]`, "expected a domain without 'https://' and path, such as 'example.com'");
  }
}
