import type { Item, ResponseSettings } from '../protocol/index.js';

/** An item that changes settings from its place in the context on, until a later one changes them again (protocol §3.1). */
interface ConfigurationItem extends Item {
  readonly reasoning?: { readonly effort?: NonNullable<ResponseSettings['reasoning']>['effort'] } | null;
  readonly text?: { readonly format?: ResponseSettings['text']['format'] } | null;
}

/** Whether an item changes settings. */
export function isConfigurationUpdate(item: Item): item is ConfigurationItem {
  return item.type === 'configuration_update';
}

/**
 * The settings of a turn as the items of its context have changed them: an update counts more than the request, of which it changes
 * the effort of reasoning and the format of the text. A null gives the request back what it says.
 */
export function configure(settings: ResponseSettings, context: readonly Item[]): ResponseSettings {
  const updates = context.filter(isConfigurationUpdate);
  if (updates.length === 0) return settings;
  const effort = updates.findLast(saysEffort)?.reasoning?.effort;
  const format = updates.findLast(({ text }) => text?.format != null)?.text?.format;
  return {
    ...settings,
    ...(effort == null ? {} : { reasoning: { ...settings.reasoning, effort } }),
    ...(format == null ? {} : { text: { ...settings.text, format } }),
  };
}

/** Where some items say which effort counts; -1 for none. */
export function indexOfEffort(items: readonly Item[]): number {
  return items.findLastIndex((item) => isConfigurationUpdate(item) && saysEffort(item));
}

function saysEffort({ reasoning }: ConfigurationItem): boolean {
  return reasoning != null && 'effort' in reasoning;
}
