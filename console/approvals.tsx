import { useCallback, useEffect, useReducer, useState } from 'preact/hooks';

import type { Api, Json } from './api.ts';
import { Items } from './items.tsx';
import { Unread, useLive } from './live.tsx';
import type { LaneSocket } from './socket.ts';
import { TEXTS } from './texts.ts';
import { Turn } from './turn.ts';
import { TurnView } from './turn-view.tsx';
import { isCall, WaitingItems, waitingIn } from './waiting.tsx';

/** Pause between two looks, ms. */
const PAUSE_MS = 5000;

/** What a turn takes over from the response that it continues. A response does not pass them on. */
const SETTINGS = ['instructions', 'tools', 'text', 'reasoning', 'max_output_tokens', 'parallel_tool_calls'] as const;

interface ApprovalsProperties {
  readonly api: Api;
  readonly socket: LaneSocket;
  readonly onInspect: (id: string) => void;
}

/** The calls of MCP servers that wait for somebody to approve them. */
export function Approvals({ api, socket, onInspect }: ApprovalsProperties) {
  const [pages, setPages] = useState(1);
  const [opened, setOpened] = useState<readonly Json[]>([]);
  const read = useCallback((signal: AbortSignal) => readWaiting(api, pages, signal), [api, pages]);
  const { value, fault } = useLive(read, PAUSE_MS);
  if (value === undefined) return <Unread fault={fault} />;
  // What was answered here stays, with the turn that goes on.
  const shown = [...opened, ...value.rows.filter(({ id }) => !opened.some((known) => known.id === id))];
  return (
    <section aria-label={TEXTS.views.approvals}>
      <p role="alert" class="fault">
        {fault === undefined ? '' : TEXTS.stale((fault as Error).message)}
      </p>
      {shown.length === 0 && <p class="card hint empty">{TEXTS.nothingWaits}</p>}
      {shown.map((row) => (
        <WaitingResponse
          key={row.id}
          api={api}
          socket={socket}
          row={row}
          onInspect={onInspect}
          onAnswer={() => setOpened((known) => (known.includes(row) ? known : [...known, row]))}
        />
      ))}
      {value.hasMore && (
        <button type="button" onClick={() => setPages(pages + 1)}>
          {TEXTS.lookFurther}
        </button>
      )}
    </section>
  );
}

/** The responses that wait, of so many pages, with their open requests: what else they say is read once, when they are shown. */
async function readWaiting(
  api: Api,
  pages: number,
  signal: AbortSignal,
): Promise<{ readonly rows: readonly Json[]; readonly hasMore: boolean }> {
  const rows: Json[] = [];
  let after = '';
  for (let page = 1; ; page += 1) {
    const list = await api.json('GET', `approvals?limit=100${after}`, undefined, signal);
    rows.push(...list.data);
    if (list.has_more !== true || page === pages) return { rows, hasMore: list.has_more };
    after = `&after=${list.last_id}`;
  }
}

type WaitingProperties = ApprovalsProperties & { readonly onAnswer: () => void };

/** A response that waits, once it was read. */
function WaitingResponse({ row, ...properties }: WaitingProperties & { readonly row: Json }) {
  const { api } = properties;
  const { id } = row;
  const [{ response, fault }, setState] = useState<{ readonly response?: Json; readonly fault?: unknown }>({});
  const [attempt, tryAgain] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    const left = new AbortController();
    setState({});
    readOpen(api, row, left.signal).then(
      (found) => setState({ response: found }),
      (error: unknown) => !left.signal.aborted && setState({ fault: error }),
    );
    return () => left.abort();
  }, [api, id, attempt]);
  if (response !== undefined) return <Waiting {...properties} response={response} />;
  return (
    <article class="card">
      <Unread fault={fault} />
      {fault !== undefined && (
        <button type="button" onClick={() => tryAgain(undefined)}>
          {TEXTS.retry}
        </button>
      )}
    </article>
  );
}

/** A response that waits, with what is still open of its output, and the conversation in which that is answered. */
async function readOpen(api: Api, { id, conversation, requests }: Json, signal: AbortSignal): Promise<Json> {
  const response = await api.json('GET', `responses/${id}`, undefined, signal);
  const { output } = response;
  const path = `conversations/${conversation?.id}/items?order=desc&limit=1`;
  const latest = conversation === null ? output.at(-1) : (await api.json('GET', path, undefined, signal)).data[0];
  // Where a conversation has gone on, calls have their outputs.
  const hasCalls = latest?.id === output.at(-1)?.id;
  const open = new Set(requests.map((request: Json) => request.id));
  const isOpen = (item: Json): boolean => (isCall(item) ? hasCalls : open.has(item.id));
  return { ...response, conversation, waiting: waitingIn(output).filter(isOpen) };
}

function Waiting({ api, socket, response, onInspect, onAnswer }: WaitingProperties & { readonly response: Json }) {
  const [turns, setTurns] = useState<readonly Turn[]>([]);
  const [, draw] = useReducer((count: number) => count + 1, 0);
  const { id, model, created_at: since, output, tools } = response;
  // Credentials are not kept with a response: those of servers that its client has named are typed in again.
  const servers: readonly Json[] = tools.filter(({ type, server_url: url }: Json) => type === 'mcp' && url);
  const [authorizations, setAuthorizations] = useState<Readonly<Record<string, string>>>({});
  // A turn that was refused has answered nothing.
  const last = turns.findLast((turn) => turn.isRunning || turn.response !== undefined);
  const latest: Json = last?.response ?? response;
  const isRunning = turns.at(-1)?.isRunning === true;
  const answer = (input: Json): void => {
    const next = new Turn({ transport: 'sse', body: continuation(latest, input, authorizations) });
    next.onChange = () => draw(undefined);
    setTurns([...turns, next]);
    onAnswer();
    void next.run(api, socket, '');
  };
  const waiting: readonly Json[] = latest.waiting ?? waitingIn(latest.output);
  const isWaiting = !isRunning && waiting.length > 0;
  return (
    <article class="card">
      <div class="bar middle">
        <h2>{TEXTS.asksFor(model)}</h2>
        <span class="hint">{TEXTS.time(since * 1000)}</span>
        <button type="button" class="quiet" onClick={() => onInspect(id)}>
          {TEXTS.inspect}
        </button>
      </div>
      {/* The form shows the requests until they are answered. */}
      <Items
        items={output.filter(({ type }: Json) => type !== 'mcp_list_tools' && (turns.length > 0 || !isRequest(type)))}
        isWhole
      />
      {turns.map((turn, index) => (
        <TurnView key={index} turn={turn} api={api} onInspect={onInspect} />
      ))}
      {isWaiting &&
        servers.map(({ server_label: label }) => (
          <label key={label}>
            {TEXTS.authorization(label)}
            <input
              type="password"
              autocomplete="off"
              value={authorizations[label] ?? ''}
              onInput={({ currentTarget }) => setAuthorizations({ ...authorizations, [label]: currentTarget.value })}
            />
          </label>
        ))}
      {isWaiting && <WaitingItems key={`${latest.id} ${turns.length}`} items={waiting} onAnswer={answer} />}
    </article>
  );
}

function isRequest(type: string): boolean {
  return type === 'mcp_approval_request';
}

/** The request that continues a response, as it was asked for, with an answer. */
function continuation(
  response: Json,
  input: Json,
  authorizations: Readonly<Record<string, string>>,
): Readonly<Record<string, Json>> {
  const { id, model, conversation, tools } = response;
  const settings = SETTINGS.filter((name) => response[name] !== null && response[name] !== undefined);
  return {
    model,
    input,
    stream: true,
    ...Object.fromEntries(settings.map((name) => [name, response[name]])),
    tools: tools.map((tool: Json) => {
      const authorization = authorizations[tool.server_label];
      return authorization ? { ...tool, authorization } : tool;
    }),
    ...(conversation == null ? { previous_response_id: id } : { conversation: conversation.id }),
  };
}
