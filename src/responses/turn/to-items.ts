import {
  hasOpaqueData,
  type IdGenerator,
  type InputItem,
  type Item,
  itemIdPrefix,
  toTextPart,
} from '../../protocol/index.js';
import { typeOfItem } from '../dto/index.js';

/** Validated items of a client in stored form: every item has an id and a type, and messages have their full form. */
export function toItems(input: string | readonly InputItem[], ids: IdGenerator): readonly Item[] {
  if (typeof input === 'string') return [toMessage({ role: 'user', content: input }, ids)];
  return input.map((item) => {
    const type = String(typeOfItem(item));
    if (type === 'message') return toMessage(item, ids);
    const whole = { ...item, type, id: item.id ?? ids.next(itemIdPrefix(type)) };
    return type === 'reasoning' ? withoutOpaque(whole) : whole;
  });
}

/** Opaque data reaches an upstream as it is: clients have it in seals only. */
function withoutOpaque(item: Item): Item {
  if (!hasOpaqueData(item)) return item;
  const { opaque: _, ...reasoning } = item;
  return reasoning;
}

/** Converts the short forms of a message (no type, content as a string) to the form that `input_items` shows. */
function toMessage(item: InputItem, ids: IdGenerator): Item {
  const { role, content } = item;
  return {
    ...item,
    type: 'message',
    id: item.id ?? ids.next('msg'),
    status: item['status'] ?? 'completed',
    role,
    content: typeof content === 'string' ? [toTextPart(role, content)] : content,
  };
}
