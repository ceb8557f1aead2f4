// Names that the reader gives to topics, by words or at the side; the overview, which is written
// before any script runs, follows. They last as long as the page is open, so it says how to keep them.
(() => {
  if (!$("name-form")) return;
  const quoted = (text) => "'" + text.replaceAll("'", "'\\''") + "'";
  const folder = !data.folder ? "MODEL" : /^[\w./-]+$/.test(data.folder) ? data.folder : quoted(data.folder);
  function show() {
    for (const button of document.querySelectorAll("#overview [data-choose]")) {
      const [layer, topic] = button.dataset.choose.split("/").map(Number), label = labelOf(layer, topic);
      const old = button.querySelector("strong");
      if (old) old.remove();
      const words = [...button.querySelectorAll("bdi")].map((each) => each.textContent);
      button.setAttribute("aria-label", `Layer ${layer}, topic ${topic}: ${label.concat(words).join(", ")}`);
      if (label.length) button.prepend(make("strong", {}, make("bdi", {}, label[0]), " "));
    }
    $("kept-names").hidden = !own.size;
    $("name-command").textContent = `pgbn label ${folder} ` + [...own].map(([place, text]) => quoted(`${place}=${text}`)).join(" ");
  }

  // The topic that has most of the occurrences of some words, among those in the page.
  function topicOf(layer, words) {
    const { topics, weights } = data.layers[layer - 1], score = weights.map(() => 0);
    for (const word of words) {
      // Upper and lower case matter only if a term is written like the word, as in pgbn label.
      const known = topics.some(([numbers]) => numbers.some((number) => data.words[number] === word));
      const is = (term) => (known ? term === word : plain(term) === plain(word));
      const counts = topics.map(([numbers, shares], k) =>
        numbers.reduce((sum, number, i) => sum + (is(data.words[number]) ? weights[k] * shares[i] : 0), 0));
      const total = counts.reduce((sum, value) => sum + value, 0);
      if (!(total > 0)) throw word;
      counts.forEach((value, k) => { score[k] += value / total; });
    }
    return score.indexOf(Math.max(...score));
  }
  $("name-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const [name, list = ""] = $("name-words").value.split("="), layer = Number($("name-layer").value);
    const words = list.split(/[\s,]+/).filter(Boolean);
    if (!name.trim() || !words.length) {
      $("name-said").textContent = "Give a name and words: weather = rain, sun";
      return;
    }
    try {
      const topic = topicOf(layer, words);
      nameTopic(layer, topic, name.trim());
      choose(layer, topic);
      $("name-said").textContent = `${sayTopic(layer, topic)}`;
    } catch (word) {
      if (typeof word !== "string") throw word;
      $("name-said").textContent = `No topic of layer ${layer} has ${isolate(word)} among its first words.`;
    }
  });
  naming.listeners.push(show);
})();
