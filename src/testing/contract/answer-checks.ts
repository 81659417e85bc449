import type { ResponseObject } from '../../protocol/index.js';
import { isSameJson, requireRule } from '../events/rule.js';
import type { Check } from './check.js';
import { TRANSPORTS } from './transports.js';

const QUESTION = 'Say hello.';

/** Answers to a plain question. */
export const ANSWER_CHECKS: readonly Check[] = [
  ...Object.values(TRANSPORTS).map((transport): Check => ({
    name: `answers over ${transport.name}`,
    run: async (service) => {
      const watched = service.tap.next();
      const response = await service.askWell(QUESTION, { transport });
      requireRule(response.usage !== null, 'usage must be there');
      await service.within(watched.ended, "the end of the provider's stream");
    },
  })),
  {
    name: 'answers alike over SSE and JSON',
    run: async (service) => {
      const streamed = await service.askWell(QUESTION, { transport: TRANSPORTS.SSE });
      const whole = await service.askWell(QUESTION, { transport: TRANSPORTS.JSON });
      requireRule(
        isSameJson(shapeOf(streamed), shapeOf(whole)),
        `a response must have the same members over SSE and JSON: ${show(shapeOf(streamed))} and ${show(shapeOf(whole))}`,
      );
      if (service.subject.deterministic !== true) return;
      const [one, other] = [textsOf(streamed), textsOf(whole)];
      requireRule(isSameJson(one, other), `a deterministic model must answer alike: ${show(one)} and ${show(other)}`);
    },
  },
  {
    name: 'stores what it streams',
    run: async (service) => {
      const response = await service.askWell(QUESTION, { body: { store: true } });
      const stored = withoutText(await service.get(`/responses/${response.id}`));
      requireRule(isSameJson(stored, response), `the stored response differs: ${show(stored)} and ${show(response)}`);
    },
  },
  {
    name: 'counts tokens in whole numbers',
    run: async (service) => {
      const watched = service.tap.next();
      const { output } = await service.askWell(QUESTION);
      requireRule(watched.turn !== null, 'the turn must have reached the provider');
      const { provider } = service;
      requireCount(await service.within(provider.countTokens(watched.turn), 'countTokens'), 'countTokens');
      requireCount(await service.within(provider.countOutputTokens(output), 'countOutputTokens'), 'countOutputTokens');
    },
  },
];

/** The content of the items of a response, without ids. */
export function textsOf({ output }: ResponseObject): unknown {
  return output.map(({ type, content, name, arguments: payload, input }) => ({ type, content, name, payload, input }));
}

function requireCount(count: unknown, what: string): void {
  requireRule(
    Number.isSafeInteger(count) && Number(count) >= 0,
    `${what} must give a whole number, not ${String(count)}`,
  );
}

/** The members of a response and of its usage; the content may differ between answers. */
function shapeOf(response: ResponseObject): unknown {
  return { response: Object.keys(withoutText(response)).sort(), usage: Object.keys(response.usage ?? {}).sort() };
}

/** Only JSON bodies have `output_text`. */
function withoutText(response: unknown): object {
  const { output_text: _, ...members } = response as Readonly<Record<string, unknown>>;
  return members;
}

function show(value: unknown): string {
  return JSON.stringify(value);
}
