import { isTokenCount } from '../../../protocol/index.js';
import { isObject } from '../../../validation/index.js';
import type { ModelEvent } from '../../model-event.js';

/** Token counts of a response, and its searches of the web. */
export type UpstreamUsage = Required<Extract<ModelEvent, { type: 'usage' }>>;

/** Token counts of a response, or what is wrong with them; neither if the response has none. */
export interface UsageReading {
  readonly usage?: UpstreamUsage;
  readonly flaw?: string;
}

const COUNTS = ['input_tokens', 'output_tokens', 'total_tokens'] as const;

/**
 * Reads `usage` of a response, and the searches in `tool_usage`. It may be absent or null, and so may its details; what there is must be complete: Codex takes a
 * response with other counts for a broken one.
 */
export function readUsage({
  usage,
  tool_usage: tools,
}: {
  readonly usage?: unknown;
  readonly tool_usage?: unknown;
}): UsageReading {
  if (usage === undefined || usage === null) return {};
  if (!isObject(usage)) return { flaw: 'usage is not an object' };
  for (const name of COUNTS) if (!isTokenCount(usage[name])) return { flaw: `usage.${name} is not a count` };
  const { input_tokens_details: inputDetails, output_tokens_details: outputDetails } = usage;
  const cached = detailOf(inputDetails, 'cached_tokens');
  const reasoning = detailOf(outputDetails, 'reasoning_tokens');
  if (cached === null) return { flaw: 'usage.input_tokens_details.cached_tokens is not a count' };
  if (reasoning === null) return { flaw: 'usage.output_tokens_details.reasoning_tokens is not a count' };
  // Not every server knows it.
  const cacheWrite = detailOf(inputDetails, 'cache_write_tokens') ?? 0;
  const [input, output] = [usage.input_tokens as number, usage.output_tokens as number];
  return { usage: { type: 'usage', input, cached, cacheWrite, output, reasoning, searches: searchesIn(tools) } };
}

/** What later token counts add to those before them. */
export function differenceOf(usage: UpstreamUsage, before: UpstreamUsage): UpstreamUsage {
  const more = (name: Exclude<keyof UpstreamUsage, 'type'>): number => Math.max(0, usage[name] - before[name]);
  return {
    type: 'usage',
    input: more('input'),
    cached: more('cached'),
    cacheWrite: more('cacheWrite'),
    output: more('output'),
    reasoning: more('reasoning'),
    searches: more('searches'),
  };
}

/** How often its server has searched the web; 0 where it does not say. */
function searchesIn(tools: unknown): number {
  const search = isObject(tools) ? tools.web_search : undefined;
  const count = isObject(search) ? search.num_requests : undefined;
  return isTokenCount(count) ? count : 0;
}

/** A count in details: 0 if there are no details, null if it is missing or no count. */
function detailOf(details: unknown, name: string): number | null {
  if (details === undefined || details === null) return 0;
  const count = isObject(details) ? details[name] : undefined;
  return isTokenCount(count) ? count : null;
}
