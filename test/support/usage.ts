import type { UsagePage, UsageResult } from '../../src/resources/usage/usage-page.js';
import type { Service } from './service.js';
import { pause } from './pause.js';

/** Asks for a report, and expects it. */
export async function usageOf(service: Service, query = '', apiKey = 'test'): Promise<UsagePage> {
  const answer = await askForUsage(service, query, apiKey);
  if (!answer.ok) throw new Error(await answer.text());
  return (await answer.json()) as UsagePage;
}

/** Asks for a report. */
export function askForUsage(service: Service, query = '', apiKey = 'test'): Promise<Response> {
  return fetch(`${service.baseURL}/usage${query}`, { headers: { authorization: `Bearer ${apiKey}` } });
}

/** The results of all buckets, once they have so many turns: some are counted after their clients have read the end. */
export async function resultsOf(
  service: Service,
  turns: number,
  query = '',
  apiKey = 'test',
): Promise<readonly UsageResult[]> {
  for (;;) {
    const results = (await usageOf(service, query, apiKey)).data.flatMap((bucket) => bucket.results);
    const counted = results.reduce((sum, result) => sum + result.turns, 0);
    if (counted > turns) throw new Error(`${counted} turns were counted, not ${turns}: ${JSON.stringify(results)}`);
    if (counted === turns) return results;
    await pause();
  }
}
