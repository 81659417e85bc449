import { Injectable } from '@nestjs/common';
import { type ModelEvent, PassPolicy, type TurnPolicy } from 'antiphon';

/** Replaces a word in the text of responses. It looks at single deltas: a word that is split over two of them stays. */
@Injectable()
export class WordFilter extends PassPolicy {
  override begin(): TurnPolicy {
    return { look: (event) => this.filter(event) };
  }

  private filter(event: ModelEvent): ModelEvent {
    return event.type === 'text' ? { ...event, delta: event.delta.replaceAll('secret', '[removed]') } : event;
  }
}
