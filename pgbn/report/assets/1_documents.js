// The documents that the page holds: lines of JSON, compressed. number → record. In a text, one of
// eight characters for private use stands before a word of each colour, and a ninth after it.
const documents = new Map();
let documentsFault = "";
if (data.documents) {
  try {
    const bytes = decode(data.documents.data, Uint8Array);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    const lines = (await new Response(stream).text()).split("\n");
    for (const line of lines) {
      if (!line) continue;
      const [number, title, shares, text = "", topics = [], cut = 0] = JSON.parse(line);
      const byLayer = shares.map((list) => {
        const rows = [];
        for (let at = 0; at < list.length; at += 2) rows.push({ topic: list[at], share: list[at + 1] / 1000 });
        return rows;
      });
      const bare = text.replace(/[\uE000-\uE008]/g, "");
      documents.set(number, { number, title, shares: byLayer, text: bare, marked: text, cut, topics, words: plain(title + " " + bare) });
    }
  } catch (error) {
    documentsFault = "This browser is too old to unpack the documents.";
  }
}

// The facts about any document, also about one that the page does not contain.
const mapNumbers = data.map && data.map.numbers ? decode(data.map.numbers, Uint32Array) : null;
function titleOf(number) {
  if (documents.has(number)) return documents.get(number).title;
  if (data.map && data.map.names) {
    const at = mapNumbers ? mapNumbers.indexOf(number) : number;
    if (at >= 0) return data.map.names[at];
  }
  return `document ${number}`;
}
