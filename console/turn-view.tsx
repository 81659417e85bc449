import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';

import type { Api } from './api.ts';
import { asCode } from './as-code.ts';
import { Code } from './code.tsx';
import { EventList } from './event-list.tsx';
import { Items } from './items.tsx';
import { TEXTS } from './texts.ts';
import { toItems, type Turn } from './turn.ts';

interface TurnViewProperties {
  readonly turn: Turn;
  readonly api: Api;
  readonly onInspect: (id: string) => void;
}

/** A turn: what was asked, what came of it, its events, and its code. */
export function TurnView({ turn, api, onInspect }: TurnViewProperties) {
  const { asked, response, items, earlier, events, error, isRunning, isCancelled } = turn;
  const given = useMemo(() => toItems(asked.body['input']), [asked]);
  const status = response === undefined ? '' : TEXTS.status(response.status, response.usage?.total_tokens);
  return (
    <article>
      <Items items={given} isWhole />
      <Items items={earlier} isWhole />
      <Items items={items} isWhole={!isRunning} />
      {error !== undefined && (
        <p role="alert" class="fault">
          {error}
        </p>
      )}
      <div class="foot">
        <p class={isRunning ? 'hint running' : 'hint'} role="status">
          {isRunning ? TEXTS.running : isCancelled ? TEXTS.cancelled : status}
        </p>
        <span class="chip">{TEXTS.transports[asked.transport]}</span>
        {!isRunning && response !== undefined && (
          <button type="button" class="quiet" onClick={() => onInspect(response.id)}>
            {TEXTS.inspect}
          </button>
        )}
        <Details summary={TEXTS.events(events.length)}>
          {() => <EventList events={events} since={turn.startedAt} />}
        </Details>
        <Details summary={TEXTS.asCode}>
          {() =>
            [...asCode(asked, api.base)].map(([language, text]) => (
              <Code key={language} language={language} text={text} />
            ))
          }
        </Details>
      </div>
    </article>
  );
}

/** Details that are made when they are opened: a stream draws its turn again with each frame. */
function Details({ summary, children }: { readonly summary: string; readonly children: () => ComponentChildren }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{summary}</summary>
      {isOpen && children()}
    </details>
  );
}
