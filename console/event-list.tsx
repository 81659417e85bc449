import { useId, useRef, useState } from 'preact/hooks';

import { TEXTS } from './texts.ts';
import type { TimedEvent } from './turn.ts';

/** Height of a row, px, as main.css has it. */
const ROW = 24;
/** How many rows are in the page at once: more than any screen shows. */
const SHOWN = 60;
/** Rows that a page key moves by. */
const PAGE = 10;

/** Where each key moves to, from a row of so many. */
const MOVES: Readonly<Record<string, (at: number, last: number) => number>> = {
  ArrowDown: (at) => at + 1,
  ArrowUp: (at) => at - 1,
  PageDown: (at) => at + PAGE,
  PageUp: (at) => at - PAGE,
  Home: () => 0,
  End: (_, last) => last,
};

interface EventListProperties {
  readonly events: readonly TimedEvent[];
  /** From when the times of the events are shown, ms since the epoch; absent for a replay, whose events come when they are asked for. */
  readonly since?: number;
}

/** Events in their order, of which only those in sight are elements of the page. Arrow keys go through them. */
export function EventList({ events, since }: EventListProperties) {
  const [top, setTop] = useState(0);
  const [chosen, setChosen] = useState<number>();
  const prefix = useId();
  const list = useRef<HTMLDivElement>(null);
  const first = Math.max(0, Math.min(Math.floor(top / ROW) - 10, events.length - SHOWN));
  const opened = chosen === undefined ? undefined : events[chosen];
  const move = (event: KeyboardEvent): void => {
    const target = MOVES[event.key]?.(chosen ?? -1, events.length - 1);
    const { current } = list;
    if (target === undefined || current === null) return;
    event.preventDefault();
    const row = Math.max(0, Math.min(target, events.length - 1));
    setChosen(row);
    const lowest = (row + 1) * ROW - current.clientHeight;
    current.scrollTop = Math.min(row * ROW, Math.max(current.scrollTop, lowest));
  };
  return (
    <>
      <div
        ref={list}
        class="events"
        role="listbox"
        aria-label={TEXTS.eventsTitle}
        aria-activedescendant={chosen === undefined ? undefined : `${prefix}-${chosen}`}
        tabIndex={0}
        onScroll={({ currentTarget }) => setTop(currentTarget.scrollTop)}
        onKeyDown={move}
      >
        <div role="presentation" style={{ height: `${events.length * ROW}px` }}>
          <div role="presentation" style={{ transform: `translateY(${first * ROW}px)` }}>
            {events.slice(first, first + SHOWN).map(({ event, at }, index) => (
              <div
                key={first + index}
                id={`${prefix}-${first + index}`}
                role="option"
                aria-selected={first + index === chosen}
                aria-posinset={first + index + 1}
                aria-setsize={events.length}
                class="event"
                onClick={() => setChosen(first + index)}
              >
                <b>{event.sequence_number ?? '–'}</b>
                {since !== undefined && <i>{TEXTS.seconds(at - since)}</i>}
                <span>
                  {event.type} {event['delta']}
                </span>
              </div>
            ))}
          </div>
        </div>
      </div>
      {opened !== undefined && <pre tabIndex={0}>{JSON.stringify(opened.event, null, 2)}</pre>}
    </>
  );
}
