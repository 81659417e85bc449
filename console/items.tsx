import type { ComponentChildren } from 'preact';

import type { Json } from './api.ts';
import { Message, pretty } from './message.tsx';
import { TEXTS } from './texts.ts';

interface ItemsProperties {
  readonly items: readonly Json[];
  /** While they are written, texts are shown as they are: Markdown is read once, when they are whole. */
  readonly isWhole: boolean;
}

/** Items of a response or of its input. */
export function Items({ items, isWhole }: ItemsProperties) {
  return (
    <>
      {items.map(
        (item, index) =>
          item !== undefined && <Item key={item.id ?? index} item={item} items={items} isWhole={isWhole} />,
      )}
    </>
  );
}

/** How items are shown that are not messages, by their type. Others are shown as JSON. */
const FORMS: Readonly<Record<string, (item: Json) => ComponentChildren>> = {
  reasoning: (item) => <Reasoning item={item} />,
  image_generation_call: (item) =>
    typeof item.result === 'string' ? (
      <img alt={TEXTS.image} src={`data:image/png;base64,${item.result}`} />
    ) : (
      <Entry title={item.type} item={item} />
    ),
  function_call: (item) => <Call item={item} />,
  custom_tool_call: (item) => <Call item={item} />,
  mcp_call: (item) => <Call item={item} />,
  function_call_output: (item) => <Output item={item} />,
  custom_tool_call_output: (item) => <Output item={item} />,
  file_search_call: (item) => <FileSearch item={item} />,
  web_search_call: ({ action, ...item }) => (
    <Entry title={TEXTS.webSearchCall(action?.query ?? action?.url ?? '')} item={{ ...item, action }} />
  ),
  mcp_list_tools: (item) => (
    <Entry
      title={TEXTS.listOfTools(item.server_label, item.tools?.length ?? 0)}
      note={item.error == null ? '' : TEXTS.failed}
      item={item}
    />
  ),
  mcp_approval_request: (item) => (
    <Entry title={TEXTS.approvalAsked(item.name, item.server_label)}>
      <pre tabIndex={0}>{pretty(item.arguments)}</pre>
    </Entry>
  ),
  mcp_approval_response: ({ approve, reason }) => (
    <p class="entry hint">{approve === true ? TEXTS.approved : TEXTS.rejected(reason)}</p>
  ),
};

function Item({ item, items, isWhole }: ItemsProperties & { readonly item: Json }) {
  if (item.type === 'message') return <Message item={item} items={items} isWhole={isWhole} />;
  const form = Object.hasOwn(FORMS, item.type) ? FORMS[item.type] : undefined;
  return <>{form === undefined ? <Entry title={item.type} item={item} /> : form(item)}</>;
}

function Reasoning({ item }: { readonly item: Json }) {
  const texts: readonly Json[] = [...(item.summary ?? []), ...(item.content ?? [])];
  const text = texts.map((part) => part.text).join('\n\n');
  return (
    <Entry title={TEXTS.reasoning}>
      <p class="plain">{text === '' ? TEXTS.sealedReasoning : text}</p>
    </Entry>
  );
}

function Call({ item }: { readonly item: Json }) {
  const { type, name, server_label: server, arguments: given, input, output, error } = item;
  const isFailed = error !== undefined && error !== null;
  return (
    <Entry title={TEXTS.call(name, server)} note={isFailed ? TEXTS.failed : ''} isOpen={type !== 'mcp_call'}>
      <h5>{TEXTS.arguments}</h5>
      <pre tabIndex={0}>{pretty(given ?? input ?? '')}</pre>
      {(isFailed || typeof output === 'string') && (
        <>
          <h5>{isFailed ? TEXTS.failed : TEXTS.result}</h5>
          <pre tabIndex={0}>{pretty(isFailed ? error : output)}</pre>
        </>
      )}
    </Entry>
  );
}

function Output({ item }: { readonly item: Json }) {
  return (
    <Entry title={TEXTS.outputOf} isOpen>
      <pre tabIndex={0}>{pretty(item.output)}</pre>
    </Entry>
  );
}

function FileSearch({ item }: { readonly item: Json }) {
  const { queries, results, status } = item;
  const note = status === 'failed' ? TEXTS.failed : results == null ? '' : TEXTS.results(results.length);
  return (
    <Entry title={TEXTS.fileSearchCall(queries.join(', '))} note={note}>
      {results == null && <p class="hint">{TEXTS.noResultsKept}</p>}
      <ul class="results">
        {results?.map(({ file_id: id, filename, score, text }: Json, index: number) => (
          <li key={index}>
            <h5 title={id}>
              {filename} <span class="hint">{TEXTS.score(score)}</span>
            </h5>
            <p class="plain quote">{text}</p>
          </li>
        ))}
      </ul>
    </Entry>
  );
}

/** An item of one line, which opens; without content of its own it has the JSON of the item. */
function Entry({
  title,
  note = '',
  isOpen = false,
  item,
  children,
}: {
  readonly title: string;
  readonly note?: string;
  readonly isOpen?: boolean;
  readonly item?: Json;
  readonly children?: ComponentChildren;
}) {
  return (
    <details class="entry" open={isOpen}>
      <summary>
        {title} {note !== '' && <span class="chip">{note}</span>}
      </summary>
      {children ?? <pre tabIndex={0}>{pretty(item)}</pre>}
    </details>
  );
}
