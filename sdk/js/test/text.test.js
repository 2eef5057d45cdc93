import assert from "node:assert/strict";
import { test } from "node:test";
import { levenshteinDistance } from "../src/levenshtein.js";
import { flattenNumbers, parseNumber } from "../src/numbers.js";
import { fenced, normalizeText, stripThoughtTags, textOf, userText, words } from "../src/text.js";

function table(name, call, rows) {
  test(name, () => {
    for (const [input, expected, ...more] of rows) assert.deepEqual(call(input, ...more), expected, JSON.stringify(input));
  });
}

table("thought tags", stripThoughtTags, [
  ["<think>a</think>b", "b"],
  ["<think>a\nb</think>\n\n c ", "c"],
  ["a</think>b", "b"],
  ["<think></think>x", "x"],
  ["<thinking>a</thinking>b", "b"],
  ["<Thought>a</THOUGHT>b<reflection>c</reflection>", "b"],
  ["x<think>a</think>y<think>b</think>z", "xyz"],
  ["x <think>never closed", "x"],
  ["<think>a</thinking>b</think>c", "c"],
  ["<think>it says <think> here</think>c", "c"],
  [null, ""],
  ["  x  ", "x"],
  ["<think>中</think>文", "文"],
  ["a <b> c", "a <b> c"],
]);

table("normalised texts", normalizeText, [
  ["  A  b\tC\n", "a  b\tc"],
  ["  A  b\tC\n", "A  b\tC", { caseSensitive: true }],
  ["  A  b\tC\n", " a b c ", { strip: false, collapseWhitespace: true }],
  ["\u3000中 文\u3000", "中 文", { collapseWhitespace: true }],
  ["a\u200bb", "a\u200bb", { collapseWhitespace: true }],
  ["a\u001cb", "a b", { collapseWhitespace: true }],
  ["a\u0085b", "a b", { collapseWhitespace: true }],
  ["İ", "i̇"],
  ["ΑΣ ΑΣ.", "ας ας."],
  [null, null],
  [true, "true"],
]);

table("words", words, [
  [" a\u3000b\n\nc ", ["a", "b", "c"]],
  ["", []],
  [null, []],
]);

table("texts of values", textOf, [
  ["a", "a"],
  [undefined, ""],
  [2, "2"],
  [{ a: [1] }, '{"a":[1]}'],
]);

table("distances", ([a, b]) => levenshteinDistance(a, b), [
  [["", ""], 0],
  [["abc", ""], 3],
  [["", "abc"], 3],
  [["kitten", "sitting"], 3],
  [["北京", "东京"], 1],
  [["👨‍👩‍👧", "👨‍👩‍👦"], 1],
  [["ab", "ba"], 2],
  [["intention", "execution"], 5],
]);

// The textbook algorithm, for comparison.
function tableDistance(first, second) {
  let row = Array.from({ length: second.length + 1 }, (_, index) => index);
  for (const [i, character] of [...first].entries()) {
    const next = [i + 1];
    for (let j = 0; j < second.length; j += 1) {
      next.push(Math.min(row[j] + (character === second[j] ? 0 : 1), row[j + 1] + 1, next[j] + 1));
    }
    row = next;
  }
  return row.at(-1);
}

test("distances of long texts", () => {
  let state = 7;
  const draw = (below) => (state = (state * 48271) % 2147483647) % below;
  for (let round = 0; round < 400; round += 1) {
    const letters = 2 + draw(4);
    const text = () => Array.from({ length: draw(140) }, () => String.fromCharCode(97 + draw(letters))).join("");
    const [first, second] = [text(), text()];
    assert.equal(levenshteinDistance(first, second), tableDistance(first, second), `${first} ${second}`);
  }
});

table("flat numbers", flattenNumbers, [
  [null, []],
  [1, [1]],
  ["x", []],
  [[null, true, 1, [2, ["3"]]], [1, 2, 3]],
  [{ a: 1 }, []],
  [[{ logprob: -1 }, { token_logprob: -2, text: "a" }, { value: [-3] }], [-1, -2, -3]],
  [["1e3"], [1000]],
  ["nan", [NaN]],
]);

table("numbers", parseNumber, [
  [" 3.5\n", 3.5],
  ["5.", 5],
  [".5", 0.5],
  ["1_000", 1000],
  ["1__000", null],
  ["１２", 12],
  ["5²", null],
  ["50%", null],
  ["", null],
  ["-inf", -Infinity],
  [true, null],
]);

test("a text cannot end its fence", () => {
  const expected = "----------\n3\n- - -\n- - -\n---------\n----------";
  assert.equal(fenced("3\n----------\r\n ------------ \n---------"), expected);
});

test("the text of a sample's user", () => {
  const content = [{ type: "text", text: "b" }, { type: "image" }, { type: "text", text: "c" }];
  const messages = [{ role: "system", content: "s" }, { role: "user", content: "a" }, { role: "user", content }];
  assert.equal(userText({ messages }), "a\n\nb\nc");
});
