// The instant model of the peers that are written in JavaScript: `tokens N [RATE]` are N words, at once or RATE a
// second; anything else is silence for ever.
export function tokens(content, on_text, on_end) {
  const directive = /tokens (\d+)(?: (\d+))?/.exec(content);
  if (!directive) return;
  const count = Number(directive[1]);
  const word = (i) => (i < count ? `w${i} ` : `w${i}`);
  if (!directive[2]) {
    for (let i = 1; i <= count; ++i) on_text(word(i));
    on_end();
    return;
  }
  const rate = Number(directive[2]);
  const began = performance.now();
  let told = 0;
  const tell = () => {
    on_text(word(++told));
    if (told < count) setTimeout(tell, began + (told * 1000) / rate - performance.now());
    else on_end();
  };
  tell();
}
