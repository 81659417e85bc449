import { createInBackground, whenEnded } from './background.js';
import type { Transport, WireResponse } from './transport.js';

/** A turn in the background that is polled until its end. */
export const BACKGROUND_TRANSPORT: Transport = {
  name: 'background',
  async run(service, body) {
    const { id } = await createInBackground(service, body);
    return { response: (await whenEnded(service, id)) as unknown as WireResponse };
  },
};
