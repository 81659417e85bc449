import { useCallback, useReducer, useState } from 'preact/hooks';

import type { Api, Json } from './api.ts';
import { Items } from './items.tsx';
import { useLive } from './live.tsx';
import type { LaneSocket } from './socket.ts';
import { TEXTS } from './texts.ts';
import { Turn } from './turn.ts';
import { TurnView } from './turn-view.tsx';
import { WaitingItems, waitingIn } from './waiting.tsx';

/** Pause between two looks, ms. */
const PAUSE_MS = 5000;

/** What a turn takes over from the response that it continues. A response does not pass them on. */
const SETTINGS = ['instructions', 'tools', 'text', 'reasoning', 'max_output_tokens', 'parallel_tool_calls'] as const;

interface ApprovalsProperties {
  readonly api: Api;
  readonly socket: LaneSocket;
  readonly onInspect: (id: string) => void;
}

/** The calls of MCP servers that wait for somebody to approve them, among the latest stored responses. */
export function Approvals({ api, socket, onInspect }: ApprovalsProperties) {
  const [pages, setPages] = useState(1);
  const [opened, setOpened] = useState<readonly Json[]>([]);
  const read = useCallback((signal: AbortSignal) => readWaiting(api, pages, signal), [api, pages]);
  const { value, fault } = useLive(read, PAUSE_MS);
  // What was answered here stays, with the turn that goes on.
  const shown = [...opened, ...(value?.waiting ?? []).filter(({ id }) => opened.every((one) => one.id !== id))];
  return (
    <section aria-label={TEXTS.views.approvals}>
      <p role="alert" class="fault">
        {fault === undefined ? '' : (fault as Error).message}
      </p>
      {value === undefined && fault === undefined && <p class="hint">{TEXTS.loading}</p>}
      {value !== undefined && shown.length === 0 && <p class="card hint empty">{TEXTS.nothingWaits}</p>}
      {shown.map((response) => (
        <Waiting
          key={response.id}
          api={api}
          socket={socket}
          response={response}
          onInspect={onInspect}
          onAnswer={() => setOpened((known) => (known.includes(response) ? known : [...known, response]))}
        />
      ))}
      {value !== undefined && <p class="hint">{TEXTS.lookedAt(value.count)}</p>}
      {value?.hasMore === true && (
        <button type="button" onClick={() => setPages(pages + 1)}>
          {TEXTS.lookFurther}
        </button>
      )}
    </section>
  );
}

interface WaitingResponses {
  readonly waiting: readonly Json[];
  /** Responses that were looked at. */
  readonly count: number;
  readonly hasMore: boolean;
}

/**
 * Responses with a request for an approval that nothing continues. What continues a response is newer, so that it was read before.
 * An answer in a response that was not stored is not seen here; the service refuses a second one.
 */
async function readWaiting(api: Api, pages: number, signal: AbortSignal): Promise<WaitingResponses> {
  const responses: Json[] = [];
  let hasMore = true;
  for (let page = 0; page < pages && hasMore; page += 1) {
    const after = responses.length === 0 ? '' : `&after=${responses.at(-1).id}`;
    const { data, has_more: isCut } = await api.json('GET', `responses?limit=100${after}`, undefined, signal);
    responses.push(...data);
    hasMore = isCut;
  }
  const continued = new Set<string>();
  const waiting = responses.filter((response) => {
    const { id, status, output, previous_response_id: parent, conversation } = response;
    const place: string = conversation?.id ?? id;
    const isFree = !continued.has(place);
    if (status !== 'failed' && status !== 'cancelled') continued.add(conversation?.id ?? parent);
    return isFree && output.some(({ type }: Json) => isRequest(type));
  });
  return { waiting, count: responses.length, hasMore };
}

function Waiting({
  api,
  socket,
  response,
  onInspect,
  onAnswer,
}: ApprovalsProperties & { readonly response: Json; readonly onAnswer: () => void }) {
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
  const isWaiting = !isRunning && waitingIn(latest.output).length > 0;
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
      {isWaiting && <WaitingItems key={`${latest.id} ${turns.length}`} items={latest.output} onAnswer={answer} />}
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
