// Rectangles whose areas are numbers, as square as they can be (Bruls, Huizing and van Wijk 2000).

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** One rectangle for each size, in their order; sizes that are not above zero get none of the room. */
export function squarified(sizes: readonly number[], room: Box): Box[] {
  const boxes = sizes.map((): Box => ({ x: room.x, y: room.y, width: 0, height: 0 }));
  const order = sizes.map((_, place) => place).filter((place) => sizes[place]! > 0);
  order.sort((a, b) => sizes[b]! - sizes[a]!);
  const total = order.reduce((sum, place) => sum + sizes[place]!, 0);
  const scale = (room.width * room.height) / (total || 1);
  let left = { ...room };
  for (let from = 0; from < order.length;) {
    const side = Math.min(left.width, left.height);
    let until = from + 1;
    while (
      until < order.length &&
      worst(order.slice(from, until + 1), sizes, scale, side) <= worst(order.slice(from, until), sizes, scale, side)
    )
      until++;
    left = laid(order.slice(from, until), sizes, scale, left, boxes);
    from = until;
  }
  return boxes;
}

/** How far from a square the worst of a row would be. */
function worst(row: readonly number[], sizes: readonly number[], scale: number, side: number): number {
  const areas = row.map((place) => sizes[place]! * scale);
  const sum = areas.reduce((all, area) => all + area, 0);
  return Math.max(...areas.map((area) => Math.max((side * side * area) / sum ** 2, sum ** 2 / (side * side * area))));
}

/** Put a row along the shorter side; what is left of the room. */
function laid(row: readonly number[], sizes: readonly number[], scale: number, room: Box, boxes: Box[]): Box {
  const sum = row.reduce((all, place) => all + sizes[place]! * scale, 0);
  const standing = room.width >= room.height;
  const thick = sum / (standing ? room.height : room.width);
  let at = standing ? room.y : room.x;
  for (const place of row) {
    const long = (sizes[place]! * scale) / thick;
    boxes[place] = standing
      ? { x: room.x, y: at, width: thick, height: long }
      : { x: at, y: room.y, width: long, height: thick };
    at += long;
  }
  return standing
    ? { ...room, x: room.x + thick, width: Math.max(0, room.width - thick) }
    : { ...room, y: room.y + thick, height: Math.max(0, room.height - thick) };
}
