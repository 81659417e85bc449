import { saidIn } from '../output.js';
import { isSameJson, requireRule } from '../../../src/testing/events/rule.js';
import { Refusal, type Transport } from '../transport.js';
import { JSON_TRANSPORT } from '../transports.js';
import type { RoutedService } from './routed-service.js';

/** Where a name went: which upstream answered, what it was asked for, and which name the client was told. */
export interface Answered {
  readonly by: string;
  readonly as: unknown;
  readonly echoed: unknown;
}

/** Runs a turn that exactly one upstream is expected to be asked for. Rejects with Refusal when the turn is refused. */
export async function ask(
  service: RoutedService,
  model: string,
  transport: Transport = JSON_TRANSPORT,
): Promise<Answered> {
  service.forget();
  const { response } = await transport.run(service, { model, input: 'Hi' });
  const asked = service.asked();
  const [by = ''] = asked;
  requireRule(asked.length === 1, `one upstream must be asked, not ${asked.join(', ')}`);
  const [said] = saidIn(response);
  requireRule(isSameJson(said, { text: by }), `${by} was asked, but the answer is ${JSON.stringify(said)}`);
  return { by, as: service.upstream(by).requests[0]?.body.model, echoed: response['model'] };
}

/** The name of the upstream that answers, or the error code of the refusal. */
export async function whoAnswers(service: RoutedService, model: string): Promise<string> {
  try {
    return (await ask(service, model)).by;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return (error.body as { readonly error: { readonly code: string } }).error.code;
  }
}

/** An entry of `GET /models`. */
export interface ListedEntry {
  readonly id: string;
  readonly object: string;
  readonly created: number;
  readonly owned_by: string;
}

/** What `GET /models` lists. */
export async function listModels(service: { readonly baseURL: string }): Promise<readonly ListedEntry[]> {
  const answer = await fetch(`${service.baseURL}/models`);
  return ((await answer.json()) as { readonly data: readonly ListedEntry[] }).data;
}

/** What `GET /models/{name}` answers. */
export async function retrieveModel(
  service: { readonly baseURL: string },
  name: string,
): Promise<{ readonly status: number; readonly body: unknown }> {
  const answer = await fetch(`${service.baseURL}/models/${encodeURIComponent(name)}`);
  return { status: answer.status, body: await answer.json() };
}
