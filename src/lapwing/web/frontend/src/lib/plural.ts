/** A number and its noun: in the singular for one, else in the plural. The same as `counted` of lapwing.web.service.plural. */
export function counted(number: number, noun: string, many = `${noun}s`): string {
  return `${number.toLocaleString("en")} ${number === 1 ? noun : many}`;
}
