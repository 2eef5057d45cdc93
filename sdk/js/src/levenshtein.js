// The edit distance, computed for 32 characters at a time. A plugin runs in an interpreter, where a loop over all pairs
// of characters would exhaust an item's budget for texts of a few hundred characters.

const BITS = 32;

const codePoints = (text) => Array.from(text, (character) => character.codePointAt(0));

// Myers' bit vectors in Hyyrö's block form. Rows are characters of the longer text, columns those of the shorter.
// `plus` and `minus` mark where the distance rises and falls from one row to the next. `carried` is its change from one
// column to the next in the last row of the previous block.
export function levenshteinDistance(first, second) {
  const [rows, columns] = [codePoints(first), codePoints(second)].sort((a, b) => b.length - a.length);
  const numbers = new Map();
  for (const column of columns) if (!numbers.has(column)) numbers.set(column, numbers.size);
  const columnNumbers = columns.map((column) => numbers.get(column));
  const equal = new Int32Array(numbers.size);
  const carried = new Int8Array(columns.length).fill(1);
  for (let start = 0; start < rows.length; start += BITS) {
    const size = Math.min(BITS, rows.length - start);
    equal.fill(0);
    for (let bit = 0; bit < size; bit += 1) {
      const number = numbers.get(rows[start + bit]);
      if (number !== undefined) equal[number] |= 1 << bit;
    }
    fillBlock(equal, columnNumbers, carried, 1 << (size - 1));
  }
  return carried.reduce((total, change) => total + change, rows.length);
}

function fillBlock(equal, columnNumbers, carried, lastBit) {
  let plus = -1;
  let minus = 0;
  for (let column = 0; column < columnNumbers.length; column += 1) {
    const change = carried[column];
    let same = equal[columnNumbers[column]];
    const vertical = same | minus;
    if (change < 0) same |= 1;
    const horizontal = (((same & plus) + plus) ^ plus) | same;
    let grows = minus | ~(horizontal | plus);
    let falls = plus & horizontal;
    carried[column] = grows & lastBit ? 1 : falls & lastBit ? -1 : 0;
    grows = (grows << 1) | (change > 0 ? 1 : 0);
    falls = (falls << 1) | (change < 0 ? 1 : 0);
    plus = falls | ~(vertical | grows);
    minus = grows & vertical;
  }
}
