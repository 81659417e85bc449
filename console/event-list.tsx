import { useState } from 'preact/hooks';

import type { StreamEvent } from './api.ts';
import { TEXTS } from './texts.ts';

/** Height of a row, px, as main.css has it. */
const ROW = 24;
/** How many rows are in the page at once: more than any screen shows. */
const SHOWN = 60;

/** Events in their order, of which only those in sight are elements of the page. */
export function EventList({ events }: { readonly events: readonly StreamEvent[] }) {
  const [top, setTop] = useState(0);
  const [opened, setOpened] = useState<StreamEvent>();
  const first = Math.max(0, Math.min(Math.floor(top / ROW) - 10, events.length - SHOWN));
  return (
    <>
      <div
        class="events"
        role="group"
        aria-label={TEXTS.eventsTitle}
        tabIndex={0}
        onScroll={({ currentTarget }) => setTop(currentTarget.scrollTop)}
      >
        <div style={{ height: `${events.length * ROW}px` }}>
          <div style={{ transform: `translateY(${first * ROW}px)` }}>
            {events.slice(first, first + SHOWN).map((event, index) => (
              <button key={first + index} type="button" class="event" onClick={() => setOpened(event)}>
                {event.sequence_number ?? first + index} {event.type} {event['delta']}
              </button>
            ))}
          </div>
        </div>
      </div>
      {opened !== undefined && <pre tabIndex={0}>{JSON.stringify(opened, null, 2)}</pre>}
    </>
  );
}
