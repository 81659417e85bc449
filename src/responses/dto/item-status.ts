/** The states an item may be in when a client replays it (protocol §3.1). */
export const ITEM_STATUSES = ['in_progress', 'completed', 'incomplete'];
