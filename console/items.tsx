import { useState } from 'preact/hooks';

import type { Json } from './api.ts';
import { Markdown } from './markdown.tsx';
import { TEXTS } from './texts.ts';

/** Items of a response. While it is written, texts are shown as they are: Markdown is read once, when they are whole. */
export function Items({ items, isWhole }: { readonly items: readonly Json[]; readonly isWhole: boolean }) {
  return (
    <>
      {items.map((item, index) => item !== undefined && <Item key={item.id ?? index} item={item} isWhole={isWhole} />)}
    </>
  );
}

function Item({ item, isWhole }: { readonly item: Json; readonly isWhole: boolean }) {
  if (item.type === 'message') {
    return <Message item={item} isWhole={isWhole} />;
  }
  if (item.type === 'reasoning') {
    const texts: readonly Json[] = [...(item.summary ?? []), ...(item.content ?? [])];
    const text = texts.map((part) => part.text).join('\n\n');
    return (
      <details class="reasoning">
        <summary>{TEXTS.reasoning}</summary>
        <p class="plain">{text === '' ? TEXTS.sealedReasoning : text}</p>
      </details>
    );
  }
  if (item.type === 'image_generation_call' && typeof item.result === 'string') {
    return <img alt={TEXTS.image} src={`data:image/png;base64,${item.result}`} />;
  }
  return (
    <details class="call" open={item.type === 'function_call'}>
      <summary>{item.name === undefined ? item.type : TEXTS.call(item.name)}</summary>
      <pre>{item.arguments ?? JSON.stringify(item, null, 2)}</pre>
    </details>
  );
}

function Message({ item, isWhole }: { readonly item: Json; readonly isWhole: boolean }) {
  const parts: readonly Json[] =
    typeof item.content === 'string' ? [{ type: 'text', text: item.content }] : (item.content ?? []);
  const sources = new Map<string, string>();
  for (const { annotations = [] } of parts)
    for (const { url, title } of annotations) if (/^https?:/i.test(url ?? '')) sources.set(url, title ?? url);
  return (
    <div class={`message ${item.role === 'user' ? 'user' : 'assistant'}`}>
      <h4>{item.role === 'user' ? TEXTS.you : TEXTS.assistant}</h4>
      {parts.map((part, index) => {
        const text: string = part.text ?? part.refusal ?? `[${part.filename ?? part.type}]`;
        return isWhole ? <Markdown key={index} text={text} /> : <p class="plain">{text}</p>;
      })}
      {sources.size > 0 && (
        <p class="sources">
          {TEXTS.source}:{' '}
          {[...sources].map(([url, title]) => (
            <a key={url} href={url} target="_blank" rel="noopener noreferrer">
              {title}
            </a>
          ))}
        </p>
      )}
    </div>
  );
}

/** A form for what the last response waits for: outputs of its function calls, and approvals of MCP calls. */
export function WaitingItems({
  items,
  onAnswer,
}: {
  readonly items: readonly Json[];
  readonly onAnswer: (input: readonly Json[]) => void;
}) {
  const calls = items.filter((item) => item?.type === 'function_call');
  const approvals = items.filter((item) => item?.type === 'mcp_approval_request');
  const [outputs, setOutputs] = useState<Readonly<Record<string, string>>>({});
  const [decisions, setDecisions] = useState<Readonly<Record<string, boolean>>>({});
  if (calls.length + approvals.length === 0) return null;
  const answer = (event: Event): void => {
    event.preventDefault();
    onAnswer([
      ...calls.map(({ call_id: id }) => ({ type: 'function_call_output', call_id: id, output: outputs[id] ?? '' })),
      ...approvals.map(({ id }) => ({
        type: 'mcp_approval_response',
        approval_request_id: id,
        approve: decisions[id] ?? false,
      })),
    ]);
  };
  return (
    <form class="waiting" onSubmit={answer}>
      {calls.map(({ call_id: id, name }) => (
        <label key={id}>
          {TEXTS.output} {name}
          <textarea
            rows={2}
            value={outputs[id] ?? ''}
            onInput={({ currentTarget }) => setOutputs({ ...outputs, [id]: currentTarget.value })}
          />
        </label>
      ))}
      {approvals.map(({ id, name, arguments: given }) => (
        <fieldset key={id}>
          <legend>{TEXTS.approval(name)}</legend>
          <pre>{given}</pre>
          {[true, false].map((decision) => (
            <label key={String(decision)} class="inline">
              <input
                type="radio"
                name={id}
                checked={(decisions[id] ?? false) === decision}
                onChange={() => setDecisions({ ...decisions, [id]: decision })}
              />
              {decision ? TEXTS.approve : TEXTS.deny}
            </label>
          ))}
        </fieldset>
      ))}
      <button type="submit">{TEXTS.sendOutputs}</button>
    </form>
  );
}
