/**
 * Fields that well-known servers and gateways have besides those of the Responses API: vLLM, SGLang, llama.cpp, Ollama,
 * OpenRouter and LiteLLM. Clients send them on purpose, so they are never taken for misspelt fields: `top_k` is not `top_p`.
 */
const VENDOR_PARAMETERS: ReadonlySet<string> = new Set([
  // Sampling.
  ...['top_k', 'top_a', 'min_p', 'typical_p', 'tfs_z', 'epsilon_cutoff', 'eta_cutoff', 'dynatemp_range'],
  ...['dynatemp_exponent', 'temperature_last', 'repetition_penalty', 'repeat_penalty', 'repeat_last_n'],
  ...['length_penalty', 'no_repeat_ngram_size', 'mirostat', 'mirostat_tau', 'mirostat_eta', 'xtc_probability'],
  ...['xtc_threshold', 'dry_multiplier', 'samplers', 'best_of', 'use_beam_search'],
  // Ends and lengths.
  ...['min_tokens', 'max_new_tokens', 'n_predict', 'num_predict', 'num_ctx', 'stop_token_ids', 'ignore_eos'],
  ...['include_stop_str_in_output', 'truncate_prompt_tokens', 'skip_special_tokens', 'spaces_between_special_tokens'],
  // Structured output and templates.
  ...['guided_json', 'guided_regex', 'guided_choice', 'guided_grammar', 'guided_decoding_backend'],
  ...['structured_outputs', 'json_schema', 'regex', 'ebnf', 'grammar', 'chat_template', 'chat_template_kwargs'],
  ...['add_generation_prompt', 'continue_final_message', 'add_special_tokens', 'separate_reasoning'],
  ...['stream_reasoning', 'include_reasoning', 'enable_thinking', 'thinking', 'thinking_budget', 'think'],
  'prompt_logprobs',
  // Serving and routing.
  ...['cache_prompt', 'cache_salt', 'cache_control', 'id_slot', 'images', 'inputs', 'top_n', 'keep_alive', 'options'],
  ...['priority', 'request_id', 'lora_path', 'session_params', 'models', 'provider', 'route', 'transforms'],
  ...['plugins', 'usage', 'fallbacks', 'num_retries', 'mock_response', 'drop_params', 'extra_body', 'extra_headers'],
  ...['litellm_metadata', 'litellm_session_id', 'litellm_trace_id', 'tags', 'guardrails'],
]);

/** Whether a field is a well-known one of other servers. */
export function isVendorParameter(name: string): boolean {
  return VENDOR_PARAMETERS.has(name);
}
