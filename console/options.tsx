import type { Json } from './api.ts';
import { TEXTS } from './texts.ts';

/** What a lane asks with, as it stands in its form. */
export interface Options {
  readonly instructions: string;
  readonly tools: string;
  readonly webSearch: boolean;
  readonly mcpLabels: string;
  readonly schema: string;
  readonly effort: string;
  readonly background: boolean;
}

/** Those of a new lane. */
export const NO_OPTIONS: Options = {
  instructions: '',
  tools: '',
  webSearch: false,
  mcpLabels: '',
  schema: '',
  effort: '',
  background: false,
};

/** The members of a request. Throws an Error, whose message a person can read, for a field that is not JSON. */
export function toMembers(options: Options): Readonly<Record<string, Json>> {
  const functions: readonly Json[] = options.tools.trim() === '' ? [] : parse(TEXTS.tools, options.tools);
  const labels = options.mcpLabels.split(',').map((label) => label.trim());
  const tools = [
    ...functions,
    ...(options.webSearch ? [{ type: 'web_search' }] : []),
    ...labels.filter(Boolean).map((label) => ({ type: 'mcp', server_label: label })),
  ];
  return {
    ...(options.instructions === '' ? {} : { instructions: options.instructions }),
    ...(tools.length === 0 ? {} : { tools }),
    ...(options.schema.trim() === ''
      ? {}
      : { text: { format: { type: 'json_schema', name: 'answer', schema: parse(TEXTS.schema, options.schema) } } }),
    ...(options.effort === '' ? {} : { reasoning: { effort: options.effort, summary: 'auto' } }),
    ...(options.background ? { background: true } : {}),
  };
}

function parse(field: string, text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(TEXTS.badJson(field));
  }
}

/** The form of the options. */
export function OptionsForm({
  options,
  onChange,
}: {
  readonly options: Options;
  readonly onChange: (options: Options) => void;
}) {
  const area = (name: 'instructions' | 'tools' | 'schema', label: string) => (
    <label>
      {label}
      <textarea
        rows={3}
        spellcheck={name === 'instructions'}
        value={options[name]}
        onInput={({ currentTarget }) => onChange({ ...options, [name]: currentTarget.value })}
      />
    </label>
  );
  const box = (name: 'webSearch' | 'background', label: string) => (
    <label class="inline">
      <input
        type="checkbox"
        checked={options[name]}
        onChange={({ currentTarget }) => onChange({ ...options, [name]: currentTarget.checked })}
      />
      {label}
    </label>
  );
  return (
    <details class="options">
      <summary>{TEXTS.options}</summary>
      {area('instructions', TEXTS.instructions)}
      {area('tools', TEXTS.tools)}
      {area('schema', TEXTS.schema)}
      <label>
        {TEXTS.mcpLabels}
        <input
          value={options.mcpLabels}
          onInput={({ currentTarget }) => onChange({ ...options, mcpLabels: currentTarget.value })}
        />
      </label>
      <label>
        {TEXTS.effort}
        <select
          value={options.effort}
          onChange={({ currentTarget }) => onChange({ ...options, effort: currentTarget.value })}
        >
          <option value="">{TEXTS.byDefault}</option>
          {['minimal', 'low', 'medium', 'high'].map((effort) => (
            <option key={effort}>{effort}</option>
          ))}
        </select>
      </label>
      {box('webSearch', TEXTS.webSearch)}
      {box('background', TEXTS.background)}
    </details>
  );
}
