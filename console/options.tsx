import { useState } from 'preact/hooks';

import type { Api, Json } from './api.ts';
import { More, usePages } from './pages.tsx';
import { TEXTS } from './texts.ts';

/** What a lane asks with, as it stands in its form. */
export interface Options {
  readonly instructions: string;
  readonly tools: string;
  readonly webSearch: boolean;
  /** Ids of the vector stores that the model may search. */
  readonly vectorStores: readonly string[];
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
  vectorStores: [],
  mcpLabels: '',
  schema: '',
  effort: '',
  background: false,
};

const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'];

/** The members of a request. Throws an Error, whose message a person can read, for a field that is not JSON. */
export function toMembers(options: Options): Readonly<Record<string, Json>> {
  const { vectorStores } = options;
  const given: readonly Json[] = options.tools.trim() === '' ? [] : parse(TEXTS.tools, options.tools);
  if (!Array.isArray(given)) throw new Error(TEXTS.noArray(TEXTS.tools));
  const labels = options.mcpLabels.split(',').map((label) => label.trim());
  const tools = [
    ...given,
    ...(options.webSearch ? [{ type: 'web_search' }] : []),
    ...(vectorStores.length === 0 ? [] : [{ type: 'file_search', vector_store_ids: vectorStores }]),
    ...labels.filter(Boolean).map((label) => ({ type: 'mcp', server_label: label })),
  ];
  return {
    ...(options.instructions === '' ? {} : { instructions: options.instructions }),
    ...(tools.length === 0 ? {} : { tools }),
    ...(vectorStores.length === 0 ? {} : { include: ['file_search_call.results'] }),
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

interface OptionsProperties {
  readonly api: Api;
  readonly options: Options;
  readonly onChange: (options: Options) => void;
}

/** The form of the options. */
export function OptionsForm({ api, options, onChange }: OptionsProperties) {
  const [isOpen, setOpen] = useState(false);
  const area = (name: 'instructions' | 'tools' | 'schema', label: string) => (
    <label>
      {label}
      <textarea
        rows={3}
        class={name === 'instructions' ? '' : 'code'}
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
    <details class="options" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{TEXTS.options}</summary>
      {area('instructions', TEXTS.instructions)}
      {area('tools', TEXTS.tools)}
      {area('schema', TEXTS.schema)}
      {isOpen && <VectorStores api={api} options={options} onChange={onChange} />}
      <div class="columns">
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
            {EFFORTS.map((effort) => (
              <option key={effort}>{effort}</option>
            ))}
          </select>
        </label>
      </div>
      {box('webSearch', TEXTS.webSearch)}
      {box('background', TEXTS.background)}
    </details>
  );
}

/** The vector stores of the tenant, to be searched by the model. */
function VectorStores({ api, options, onChange }: OptionsProperties) {
  const { entries, hasMore, fault, more } = usePages(api, 'vector_stores?limit=50');
  const { vectorStores: chosen } = options;
  return (
    <fieldset>
      <legend>{TEXTS.fileSearch}</legend>
      {entries?.length === 0 && <p class="hint">{TEXTS.noStores}</p>}
      {entries?.map(({ id, name, file_counts: { completed } }) => (
        <label key={id} class="inline" title={id}>
          <input
            type="checkbox"
            checked={chosen.includes(id)}
            onChange={({ currentTarget: { checked } }) =>
              onChange({ ...options, vectorStores: checked ? [...chosen, id] : chosen.filter((other) => other !== id) })
            }
          />
          {TEXTS.store(name || id, completed)}
        </label>
      ))}
      <More hasMore={hasMore} fault={fault} onMore={more} />
    </fieldset>
  );
}
