import type { Turn } from '../../turn.js';
import type { Capabilities } from '../capabilities.js';

/** Members with the same name in both protocols. They are sent only if the client sent them, so that server defaults apply. */
const SAME = ['temperature', 'top_p', 'presence_penalty', 'frequency_penalty', 'user'] as const;

/** How a client asks for the cache of its prompts; the same in both protocols. */
const PROMPT_CACHE = ['prompt_cache_key', 'prompt_cache_retention', 'prompt_cache_options'] as const;

const REASONING: Readonly<Record<Capabilities['reasoningSwitch'], (effort: string) => object>> = {
  reasoning_effort: (effort) => ({ reasoning_effort: effort }),
  reasoning: (effort) => ({ reasoning: { effort } }),
  enable_thinking: (effort) => ({ chat_template_kwargs: { enable_thinking: effort !== 'none' } }),
  thinking: (effort) =>
    effort === 'none'
      ? { thinking: { type: 'disabled' } }
      : { thinking: { type: 'enabled' }, reasoning_effort: effort },
  none: () => ({}),
};

/** Translates sampling, limits, reasoning, the cache of prompts, log probabilities and metadata. */
export function toSampling({ settings, parameters, include }: Turn, capabilities: Capabilities): object {
  const limit = settings.max_output_tokens;
  const effort = settings.reasoning?.effort ?? null;
  const alternatives = settings.top_logprobs ?? 0;
  const wantsLogprobs = alternatives > 0 || include.includes('message.output_text.logprobs');
  const verbosity = capabilities.verbosity ? (parameters.text?.verbosity ?? null) : null;
  return {
    ...pick(parameters, SAME),
    ...(capabilities.promptCache ? pick(parameters, PROMPT_CACHE) : {}),
    ...(limit === null ? {} : { [capabilities.maxTokensField]: limit }),
    ...(effort === null ? {} : REASONING[capabilities.reasoningSwitch](effort)),
    ...(verbosity === null ? {} : { verbosity }),
    ...(wantsLogprobs ? { logprobs: true } : {}),
    ...(alternatives > 0 ? { top_logprobs: alternatives } : {}),
    ...(Object.keys(settings.metadata ?? {}).length === 0 ? {} : { metadata: settings.metadata }),
  };
}

function pick(parameters: Turn['parameters'], names: readonly (keyof Turn['parameters'])[]): object {
  return Object.fromEntries(names.flatMap((name) => (parameters[name] == null ? [] : [[name, parameters[name]]])));
}
